import { openUploadsWorld } from "./uploads.testing.ts";

/**
 * The uploads service in a process that can be killed: `node upload-process.testing.ts <folder> <port>` prints its URL,
 * then serves.
 */
const [, , folder, port] = process.argv;
const { base } = await openUploadsWorld({ folder: folder!, port: Number(port) });
process.stdout.write(`${base}\n`);
// The death of the parent does not end a child process.
process.stdin.on("end", () => process.exit()).resume();
