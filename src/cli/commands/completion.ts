import { type Command, defineCommand } from "../command.ts";
import { SHELLS, completionScript } from "../completion-script.ts";

/** `commands` is a function, because the list contains this command too. */
export const createCompletion = (commands: () => Promise<readonly Command[]>): Command =>
  defineCommand({
    name: "completion",
    summary: "print a shell completion script",
    description: "The script is generated from the same command list as this help.",
    arguments: [{ name: "shell", summary: "the shell", required: true, choices: SHELLS }],
    options: {},
    examples: [
      ["reelpost completion bash > ~/.local/share/bash-completion/completions/reelpost", "bash"],
      ["echo 'eval \"$(reelpost completion zsh)\"' >> ~/.zshrc", "zsh, after compinit"],
      ["reelpost completion fish > ~/.config/fish/completions/reelpost.fish", "fish"],
    ],
    async run(_, [shell], { stdout }) {
      stdout.line(completionScript(shell as (typeof SHELLS)[number], await commands()));
      return 0;
    },
  });
