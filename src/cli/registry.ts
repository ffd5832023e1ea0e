import type { Command } from "./command.ts";
import { createCompletion } from "./commands/completion.ts";
import { dev } from "./commands/dev.ts";
import { init } from "./commands/init.ts";
import { serve } from "./commands/serve.ts";
import { types } from "./commands/types.ts";

/** Every command, in the order help lists them. Parsing, help and completion are made from this list. */
export const COMMANDS: readonly Command[] = [init, dev, serve, types, createCompletion(() => COMMANDS)];
