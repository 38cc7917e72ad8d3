/**
 * What a process in the sandbox may try against the supervisor, in Python: the image has it, and it speaks to the kernel
 * plainly. Prints one JSON object: for each attack "done", or why it was refused.
 */
export const attackProgram: string = String.raw`
import ctypes, json, os, resource, signal, socket, sys

libc = ctypes.CDLL(None, use_errno=True)

def find_supervisor():
    for name in sorted(os.listdir("/proc")):
        if name.isdigit():
            try:
                words = open("/proc/%s/cmdline" % name, "rb").read().split(b"\0")
            except OSError:
                continue
            if b"supervise" in words and b"/opt/aimi/adapter.mjs" in words:
                return int(name)
    raise SystemExit("no supervisor")

supervisor = find_supervisor()

def call(function, *arguments):
    ctypes.set_errno(0)
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def write(path):
    with open(path, "ab", buffering=0) as file:
        file.write(b"forged\n")

def replace(path):
    os.rename(path, path + ".old")
    os.rename(path + ".old", path)

def link(path):
    os.symlink("/etc/passwd", path + ".link")
    os.unlink(path + ".link")

def speak():
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(5)
    line.connect("/aimi/sock/supervisor")
    line.send(b'{"from":0}\n')
    if b'"hello"' not in line.recv(65536):
        raise OSError(0, "no hello")

def trace(pid):
    # PTRACE_SEIZE does not stop it.
    call(libc.ptrace, 0x4206, pid, 0, 0)
    call(libc.ptrace, 17, pid, 0, 0)

def read_fds(pid):
    for name in os.listdir("/proc/%d/fd" % pid):
        os.readlink("/proc/%d/fd/%s" % (pid, name))

def read_some(path):
    with open(path, "rb", buffering=0) as file:
        file.read(16)

def write_back(path):
    with open(path, "r+") as file:
        text = file.read()
        file.seek(0)
        file.write(text)

def become_root():
    os.setresuid(0, 0, 0)

def set_score(pid):
    with open("/proc/%d/oom_score_adj" % pid, "w") as file:
        file.write("1000")

def mount(path):
    call(libc.mount, b"none", path, b"tmpfs", 0, None)

attacks = {}
for name in ["journal.ndjson", "request.json", "notes.json", "reserve", "out/transcript/US-001.ndjson"]:
    path = "/aimi/" + name
    attacks["write " + name] = lambda path=path: write(path)
    attacks["truncate " + name] = lambda path=path: os.truncate(path, 0)
    attacks["replace " + name] = lambda path=path: replace(path)
    attacks["read " + name] = lambda path=path: read_some(path)
    attacks["open up " + name] = lambda path=path: os.chmod(path, 0o666)
    attacks["link beside " + name] = lambda path=path: link(path)
attacks["list /aimi"] = lambda: os.listdir("/aimi")
attacks["list /aimi/out"] = lambda: os.listdir("/aimi/out")
attacks["write into /aimi/out"] = lambda: write("/aimi/out/work.bundle")
attacks["open up /aimi"] = lambda: os.chmod("/aimi", 0o777)
attacks["reach it through /proc"] = lambda: read_some("/proc/%d/root/aimi/journal.ndjson" % supervisor)
attacks["see its folder"] = lambda: os.readlink("/proc/%d/cwd" % supervisor)
for path in ["/opt/aimi/adapter", "/opt/aimi/adapter.mjs"]:
    attacks["write " + path] = lambda path=path: write(path)
    attacks["replace " + path] = lambda path=path: replace(path)
attacks["replace /opt/aimi/node"] = lambda: replace("/opt/aimi/node")
attacks["write beside the adapter"] = lambda: link("/opt/aimi/x")
attacks["speak on its socket"] = speak
attacks["replace its socket"] = lambda: replace("/aimi/sock/supervisor")
attacks["read its environment"] = lambda: read_some("/proc/%d/environ" % supervisor)
attacks["see its files"] = lambda: read_fds(supervisor)
attacks["write on its output"] = lambda: write("/proc/%d/fd/1" % supervisor)
attacks["lower its limits"] = lambda: resource.prlimit(supervisor, resource.RLIMIT_CORE, (0, 0))
attacks["offer it to the memory's killer"] = lambda: set_score(supervisor)
attacks["signal it"] = lambda: os.kill(supervisor, signal.SIGCONT)
attacks["signal the first process"] = lambda: os.kill(1, signal.SIGCONT)
# Nobody in the container may do these, whoever he is.
attacks["trace it"] = lambda: trace(supervisor)
attacks["open its memory"] = lambda: write_back("/proc/%d/mem" % supervisor)
attacks["mount over /aimi"] = lambda: mount(b"/aimi")
attacks["mount over /workspace"] = lambda: mount(b"/workspace")
attacks["unmount /aimi"] = lambda: call(libc.umount2, b"/aimi", 2)
attacks["new user namespace"] = lambda: call(libc.unshare, 0x10000000)
attacks["new mount namespace"] = lambda: call(libc.unshare, 0x00020000)
attacks["become root"] = become_root
attacks["move the folder"] = lambda: os.rename("/workspace", "/workspace.old")
attacks["move /aimi"] = lambda: os.rename("/aimi", "/aimi.old")

asked = sys.argv[1:]
result = {}
for name, attack in attacks.items():
    if asked and name not in asked:
        continue
    told, tell = os.pipe()
    child = os.fork()
    # Each in a process of its own: what one changes must not help the next.
    if child == 0:
        try:
            attack()
            outcome = "done"
        except OSError as error:
            outcome = os.strerror(error.errno) if error.errno else str(error)
        except Exception as error:
            outcome = str(error)
        os.write(tell, outcome.encode())
        os._exit(0)
    os.close(tell)
    result[name] = open(told, "rb").read().decode()
    os.waitpid(child, 0)
print(json.dumps(result))
`;
