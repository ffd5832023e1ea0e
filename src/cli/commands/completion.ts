import { defineCommand } from "../command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

export const completion = defineCommand({
  name: "completion",
  summary: "print the completion script of a shell",
  description: "The script is made from the same list of commands as this help.",
  arguments: [{ name: "shell", summary: "the shell", required: true, choices: SHELLS }],
  options: {},
  examples: [
    ["reelpost completion bash > ~/.local/share/bash-completion/completions/reelpost", "bash"],
    ["echo 'eval \"$(reelpost completion zsh)\"' >> ~/.zshrc", "zsh, after compinit"],
    ["reelpost completion fish > ~/.config/fish/completions/reelpost.fish", "fish"],
  ],
  async run(_, [shell], { stdout }) {
    // The list holds this command too: loaded when it is needed, there is no circle when the files are.
    const [{ completionScript }, { COMMANDS }] = await Promise.all([import("../completion-script.ts"), import("../registry.ts")]);
    stdout.line(completionScript(shell as (typeof SHELLS)[number], COMMANDS));
    return 0;
  },
});
