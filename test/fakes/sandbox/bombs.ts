import type { AgentChoice } from "../../../src/contract/tasks.ts";
import { count } from "../../counts.ts";

/** How a bomb is to end. */
export interface BombEnd {
  readonly status: "completed" | "failed";
  readonly code: string | null;
  /** What the reason names. */
  readonly says?: RegExp;
}

/** What one worker's agent does to the machine, and to the process that owns its swarm. */
export interface WorkerBomb {
  readonly name: string;
  /** Which kind of agent carries it out, with its program. */
  readonly agent: Pick<AgentChoice, "kind" | "command">;
  readonly end: BombEnd;
  /** Where gVisor ends it in another way. */
  readonly endOnGvisor?: BombEnd;
  /** How much of it; 0 leaves it out. */
  readonly much: number;
}

/** What one task of a sandbox does to the machine, and to the commands that look after it. */
export interface SandboxBomb {
  readonly name: string;
  readonly script: string;
  readonly exit: number;
  readonly code: string | null;
  /** What its `/outputs/kept.txt` has to have in it, here. */
  readonly content: string;
}

const shell = (script: string): WorkerBomb["agent"] => ({ kind: "command", command: ["bash", "-c", script] });
const python = (script: string, kind: "command" | "acp" = "command"): WorkerBomb["agent"] => ({
  kind,
  command: ["python3", "-c", script],
});

const busy = (processes: number, seconds: number): WorkerBomb["agent"] =>
  shell(
    `for n in $(seq ${processes}); do while :; do :; done & done; sleep ${seconds}; kill $(jobs -p); echo done > done.txt`,
  );

/** As many busy processes as a worker has CPUs: what its limits allow, and no more. */
export const busyLoop: WorkerBomb = {
  ...{ name: "busy-loop", agent: busy(2, 8), much: 1 },
  end: { status: "completed", code: null },
};

/** Puts objects into the agent's repository by hand: git itself would not make such trees. */
const treeByHand = String.raw`
import hashlib, os, subprocess, zlib
def put(kind, body):
    data = b"%s %d\0" % (kind, len(body)) + body
    name = hashlib.sha1(data).hexdigest()
    folder = ".git/objects/" + name[:2]
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/" + name[2:], "wb") as file:
        file.write(zlib.compress(data, 1))
    return bytes.fromhex(name)
def tree(entries):
    return put(b"tree", b"".join(b"%s %s\0" % (mode, name) + held for mode, name, held in entries))
def files(number):
    return tree([(b"100644", b"%06d" % n, blob) for n in range(number)])
def within(names, held):
    for name in names:
        held = tree([(b"40000", name, held)])
    return held
def commit(held):
    made = subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.invalid", "commit-tree", held.hex(),
        "-p", "HEAD", "-m", "Work"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["git", "update-ref", "HEAD", made], check=True)
blob = put(b"blob", b"x\n")
# No folder takes a name this long, and no system call such a path, so git cannot look whether the files are there, and leaves what it has of them alone.
unseen = b"u" * 300
unseen_path = [b"u" * 250] * 17
`;

/** It asks and asks, as fast as a pipe takes it, and never reads what it is answered. */
const floodOfRequests = String.raw`
import sys
line = b'{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"path":"/etc/hostname"}}\n'
while True:
    sys.stdout.buffer.write(line * 10000)
`;

/** Each bomb of a worker with how it ends. What takes longest where it is not noticed comes last. */
const allWorkerBombs: readonly WorkerBomb[] = [
  {
    name: "sparse-terabyte",
    agent: shell("truncate -s 1T sparse.bin"),
    end: { status: "failed", code: "WORK_TOO_LARGE", says: /sparse\.bin/ },
    much: 1,
  },
  {
    name: "large-file",
    agent: shell("fallocate -l 1500M large.bin"),
    end: { status: "failed", code: "WORK_TOO_LARGE", says: /large\.bin/ },
    much: 1,
  },
  {
    name: "many-files",
    agent: shell(`mkdir many && cd many && seq ${count.bombFiles} | xargs touch`),
    end: { status: "failed", code: "WORK_TOO_LARGE", says: /more than 50000/ },
    much: count.bombFiles,
  },
  {
    name: "deep-tree",
    agent: python(`${treeByHand}\ncommit(within(unseen_path + [b"d"] * 250, files(1)))`),
    end: { status: "failed", code: "COLLECT_FAILED", says: /deep/ },
    much: 1,
  },
  {
    name: "long-names",
    agent: python(
      `${treeByHand}\ncommit(within([b"n" * 250] * 189 + [unseen], files(${count.bombLongNames})))`,
    ),
    end: { status: "failed", code: "COLLECT_FAILED", says: /long/ },
    much: count.bombLongNames,
  },
  {
    name: "many-entries",
    agent: python(
      `${treeByHand}\nfull = files(1000)\ncommit(within([unseen], tree([(b"40000", b"%06d" % n, full) for n in range(${count.bombTrees})])))`,
    ),
    end: { status: "failed", code: "COLLECT_FAILED", says: /more than|longer than/ },
    // gVisor says of a name that is too long that it is not there: the adapter's commit takes the files away again.
    endOnGvisor: { status: "completed", code: null },
    much: count.bombTrees,
  },
  {
    name: "unread-answers",
    agent: python(floodOfRequests, "acp"),
    end: { status: "failed", code: "AGENT_CRASH" },
    much: 1,
  },
  {
    name: "fork-bomb",
    agent: shell(":(){ :|:& };:\nwait\nsleep 1000"),
    end: { status: "failed", code: "PROCESSES_EXHAUSTED" },
    much: 1,
  },
  {
    name: "fifty-busy",
    agent: busy(50, 5),
    end: { status: "completed", code: null },
    much: 1,
  },
];

/** The bombs of this run: a bomb of more than 100 000 files is for the full counts. */
export const workerBombs: readonly WorkerBomb[] = allWorkerBombs
  .filter(({ much }) => much > 0)
  .slice(0, count.workerBombs);

/** Each bomb of a task in a sandbox with how it ends. */
const allSandboxBombs: readonly SandboxBomb[] = [
  {
    name: "flood of names that cannot be shown",
    script: String.raw`import os
open("/outputs/kept.txt", "w").write("kept\n")
print("begun", flush=True)
os.chdir("/outputs")
for n in range(190):
    os.mkdir("n" * 250 + "\n")
    os.chdir("n" * 250 + "\n")
for n in range(15000):
    open("%05d\n" % n, "w").close()
`,
    // Paths that are longer than the kernel takes cannot be made here.
    ...{ exit: 9, code: "OUTPUTS_INCOMPLETE", content: "kept\n" },
  },
  {
    name: "program that goes on writing",
    script: String.raw`import subprocess
open("/outputs/kept.txt", "w").write("kept\n")
# So large that it grows while it is read, whenever that is.
with open("/outputs/grows.bin", "wb") as file:
    file.write(bytes(200 * 1024 ** 2))
subprocess.Popen(["sh", "-c", "while sleep 0.01; do echo more >> /outputs/grows.bin; done"], start_new_session=True,
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("begun", flush=True)
`,
    ...{ exit: 9, code: "OUTPUTS_INCOMPLETE", content: "kept\n" },
  },
  {
    name: "folder that its owner cannot read",
    script: String.raw`import os
open("/outputs/kept.txt", "w").write("kept\n")
os.mkdir("/outputs/shut")
open("/outputs/shut/file.txt", "w").close()
os.chmod("/outputs/shut", 0)
print("begun", flush=True)
`,
    ...{ exit: 9, code: "OUTPUTS_INCOMPLETE", content: "kept\n" },
  },
  {
    name: "sparse file beyond 8 GiB",
    script: String.raw`import os
open("/outputs/kept.txt", "w").write("kept\n")
os.truncate(os.open("/outputs/sparse.bin", os.O_CREAT | os.O_WRONLY), 9 * 1024 ** 3)
print("begun", flush=True)
`,
    ...{ exit: 9, code: "OUTPUTS_INCOMPLETE", content: "kept\n" },
  },
];

export const sandboxBombs: readonly SandboxBomb[] = allSandboxBombs.slice(0, count.sandboxBombs);
