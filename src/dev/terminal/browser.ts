import { spawn } from "node:child_process";

const OPENERS: Partial<Record<NodeJS.Platform, [command: string, args: string[]]>> = {
  darwin: ["open", []],
  win32: ["cmd", ["/c", "start", ""]],
};

/** Opens `url` in the desktop's browser. Rejects if there is none. */
export function openBrowser(url: string): Promise<void> {
  const [command, args] = OPENERS[process.platform] ?? ["xdg-open", []];
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
    child.once("error", reject);
    child.once("spawn", () => {
      child.unref();
      resolve();
    });
  });
}
