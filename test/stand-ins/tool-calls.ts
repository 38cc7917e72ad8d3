import { posix } from "node:path";
import type { Step } from "./scenarios.ts";

/** A tool that the agent offered with its request. */
export type OfferedTools = readonly string[];

export interface ToolCall {
  readonly name: string;
  /** Fields, or the plain text of a tool that takes a language of its own. */
  readonly input: Readonly<Record<string, unknown>> | string;
}

/** The calls of a step in the words of the agent's own tools, whichever agent asks. */
export function toolCallsOf(step: Step, offered: OfferedTools, folder: string): ToolCall[] {
  const { write, edit, run, commit, tool } = step;
  const shell = (command: string): ToolCall => shellCall(command, offered);
  return [
    ...(write ? [writeCall(posix.join(folder, write.path), write.content, offered)] : []),
    ...(edit ? [editCall(posix.join(folder, edit.path), edit.from, edit.to, offered)] : []),
    ...(run === undefined ? [] : [shell(run)]),
    ...(commit === undefined
      ? []
      : [shell(`git add --all && git ${identity} commit -q -m ${quoted(commit)}`)]),
    ...(tool ? [tool] : []),
  ];
}

const identity = "-c user.name=agent -c user.email=agent@example.invalid";

function writeCall(path: string, content: string, offered: OfferedTools): ToolCall {
  if (offered.includes("Write")) return { name: "Write", input: { file_path: path, content } };
  if (offered.includes("write_file")) return { name: "write_file", input: { file_path: path, content } };
  if (offered.includes("write")) return { name: "write", input: { filePath: path, content } };
  const encoded = Buffer.from(content).toString("base64");
  const create = `mkdir -p ${quoted(posix.dirname(path))} && echo ${encoded} | base64 -d > ${quoted(path)}`;
  return shellCall(create, offered);
}

function editCall(path: string, from: string, to: string, offered: OfferedTools): ToolCall {
  if (offered.includes("Edit"))
    return { name: "Edit", input: { file_path: path, old_string: from, new_string: to } };
  if (offered.includes("replace"))
    return {
      name: "replace",
      input: { file_path: path, old_string: from, new_string: to, instruction: "Change it." },
    };
  if (offered.includes("edit"))
    return { name: "edit", input: { filePath: path, oldString: from, newString: to } };
  const script =
    "const [,f,a,b]=process.argv,s=require('fs');s.writeFileSync(f,s.readFileSync(f,'utf8').replace(a,()=>b))";
  return shellCall(`node -e ${quoted(script)} ${[path, from, to].map(quoted).join(" ")}`, offered);
}

function shellCall(command: string, offered: OfferedTools): ToolCall {
  const description = "Run a command";
  if (offered.includes("exec")) {
    const script = `text(await tools.exec_command({ cmd: ${JSON.stringify(command)} }));`;
    return { name: "exec", input: script };
  }
  if (offered.includes("exec_command")) return { name: "exec_command", input: { cmd: command } };
  const name = ["Bash", "run_shell_command", "bash"].find((known) => offered.includes(known));
  if (name) return { name, input: { command, description } };
  return { name: "shell", input: { command: ["bash", "-lc", command] } };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
