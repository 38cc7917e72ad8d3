/** Command lines that only look like one of ours. `canary` is the path of a file that is made where a shell runs what was smuggled in. */
export function mutationsOf(
  commands: readonly string[],
  { program, canary, elsewhere }: { program: string; canary: string; elsewhere: string },
): string[] {
  const made = commands.flatMap((command) => [
    ...smuggled(command, `touch ${canary}`),
    ...redirected(command, canary),
    ...respelt(command, program, elsewhere),
    ...respaced(command),
    ...widened(command),
  ]);
  return [...new Set([...made, ...otherCommands(program, canary)])].filter(
    (line) => !commands.includes(line),
  );
}

function smuggled(command: string, payload: string): string[] {
  const separators = [
    "\n",
    "\r\n",
    " \n",
    "\n\n",
    ";",
    "; ",
    "&",
    " & ",
    "&&",
    "|",
    "|&",
    "||",
    ";\n",
    "&\n",
    "\\\n;",
  ];
  const substitutions = [
    ...[
      `$(${payload})`,
      `\`${payload}\``,
      `"$(${payload})"`,
      `\${x:-$(${payload})}`,
      `<(${payload})`,
      `>(${payload})`,
    ],
    ...[
      `"\`${payload}\`"`,
      `$((1+$(${payload})1))`,
      `$'x'$(${payload})`,
      `{a,$(${payload})}`,
      `\${x:=$(${payload})}`,
    ],
  ];
  return [
    ...separators.map((separator) => `${command}${separator}${payload}`),
    ...separators.slice(0, 8).map((separator) => `${payload}${separator}${command}`),
    ...substitutions.map((text) => `${command} ${text}`),
    ...substitutions.slice(0, 6).map((text) => command.replace(" ", ` ${text} `)),
    ...substitutions.slice(0, 3).map((text) => `${text} ${command}`),
    `A=$(${payload}) ${command}`,
    `A=1 B="$(${payload})" ${command}`,
    `alias status='${payload}'\n${payload}\n${command}`,
    `function ${command.split(" ")[0]} { ${payload}; }; ${command}`,
    `trap '${payload}' EXIT; ${command}`,
    `trap '${payload}' DEBUG\n${command}`,
    `${command} <<EOF\n$(${payload})\nEOF`,
    `${command} <<< "$(${payload})"`,
    `(${payload}) ; ${command}`,
    `{ ${payload}; }; ${command}`,
    `if ${command}; then ${payload}; fi`,
    `! ${command}; ${payload}`,
    `time ${command}; ${payload}`,
    `eval "${payload}"; ${command}`,
    `eval ${command}`,
    `exec ${command}`,
    `command ${command}`,
    `${command} #\n${payload}`,
    `${command} \u2028${payload}`,
    `${command}\u0085${payload}`,
    `${command}\v${payload}`,
    `${command}\f${payload}`,
  ];
}

function redirected(command: string, canary: string): string[] {
  return [">", ">>", "2>", "&>", ">|", "1>", "<>", "> "].map((sign) => `${command} ${sign}${canary}`);
}

/** The program by another way: another path, another program, or a name that somebody else decides on. */
function respelt(command: string, program: string, elsewhere: string): string[] {
  const [, ...rest] = command.split(" ");
  const folder = program.slice(0, -"/bin/swarm".length);
  const programs = [
    ...[
      `/${program}`,
      `${folder}//bin/swarm`,
      `${folder}/bin/./swarm`,
      `${folder}/bin/../bin/swarm`,
      `${program}/`,
    ],
    ...[
      "swarm",
      "./swarm",
      "bin/swarm",
      "../bin/swarm",
      "~/bin/swarm",
      `${elsewhere}/bin/swarm`,
      `"${program}"`,
      `'${program}'`,
    ],
    ...[
      `${program.slice(0, -1)}\\m`,
      `${program.slice(0, -1)}?`,
      `${program.slice(0, -1)}*`,
      `${program}x`,
      `x${program}`,
    ],
    ...[
      program.replace("swarm", "\u0455warm"),
      program.replace("bin", "b\u0131n"),
      program.toUpperCase(),
      `$0${program}`,
    ],
    ...[
      `env ${program}`,
      `sh ${program}`,
      `sudo ${program}`,
      `nohup ${program}`,
      `PATH=${elsewhere} ${program}`,
    ],
    ...[`NODE_OPTIONS=--require=${elsewhere}/x.cjs ${program}`, `LD_PRELOAD=${elsewhere}/x.so ${program}`],
    ...[
      `BASH_ENV=${elsewhere}/x ${program}`,
      `HOME=${elsewhere} ${program}`,
      `SWARM_AGENT=command ${program}`,
    ],
  ];
  return programs.map((name) => [name, ...rest].join(" "));
}

function respaced(command: string): string[] {
  return [
    ...[
      ` ${command}`,
      `${command} `,
      `${command}\n`,
      `\n${command}`,
      `${command}\t`,
      `${command}\r`,
      `${command}\0`,
    ],
    ...[
      command.replace(" ", "  "),
      command.replace(" ", "\t"),
      command.replace(" ", "\u00a0"),
      command.replace(" ", "\\ "),
    ],
    ...[command.replace(" ", "\u2003"), command.replace(" ", "\u200b "), command.replace(" ", "${IFS}")],
  ];
}

/** More than our commands ask for. */
function widened(command: string): string[] {
  return [
    ...[
      "--allow npm",
      "--allow example.com:443",
      "--isolation shared-kernel",
      "--env A=1",
      "--network bridge",
    ],
    ...[
      "--budget-usd 100",
      "--budget-tokens 9",
      "--worker-budget-usd 9",
      "--engine unix:///tmp/x.sock",
      "--discard",
    ],
    ...[
      "--agent command -- sh",
      "--agent command",
      "--check true",
      "--notify sh",
      "--force",
      "--everything",
      "--yes",
    ],
    ...[
      "--credential anthropic=cmd:sh",
      "--model-endpoint x=http",
      "--registry npm=x",
      "--json=1",
      "--progress tty",
    ],
    ...[
      "--",
      "-",
      "-x",
      "--no-verify",
      "--verify true",
      "../x",
      "/etc/passwd",
      ".aimi/tasks/../../x-tasks.json",
    ],
    ...[
      ".aimi/tasks/.hidden-tasks.json",
      ".aimi/tasks/a/b-tasks.json",
      "*",
      "[a-z]",
      "{a,b}",
      "~",
      "~root",
      "!1",
      "!!",
    ],
    ...["worker;", "Worker", "-worker", "worker/../x", "other_project-worker", "@everyone", "--help"],
  ].map((word) => `${command} ${word}`);
}

function otherCommands(program: string, canary: string): string[] {
  return [
    ...[
      "trust",
      "trust --yes",
      "config explain",
      "schedule install",
      "sandbox run sandbox.yaml",
      "sandbox exec x -- sh",
    ],
    ...[
      "shell worker",
      "shell worker -- sh",
      "attach worker",
      "engine start --yes",
      "engine stop",
      "image build",
      "init",
    ],
    ...[
      "state repair",
      "state update worker --status completed",
      "swarm-update worker",
      "plugin install",
      "run x",
    ],
    ...[
      "merge",
      "cleanup --discard",
      "cleanup --everything --yes",
      "cleanup --all",
      "constructor",
      "__proto__",
      "toString",
    ],
    ...[
      "",
      "status status",
      "logs",
      "logs a b",
      "diff",
      "retry",
      "wait --timeout",
      "start --parallel",
      "logs --story",
    ],
    ...[
      "events --kind all",
      "events -f",
      "logs worker -f",
      "start --parallel 0",
      "start --parallel -1",
      "wait --timeout 1",
    ],
    ...["own start --all", "statusline --wrap sh", `statusline --wrap ${canary}`, "hook pre-tool-use"],
  ].map((words) => `${program} ${words}`);
}
