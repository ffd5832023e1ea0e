import { openUploadsWorld } from "./uploads.testing.ts";

/** The room of uploads as a process that can be killed: `node upload-process.testing.ts <folder> <port>` tells its address, and serves. */
const [, , folder, port] = process.argv;
const { base } = await openUploadsWorld({ folder: folder!, port: Number(port) });
process.stdout.write(`${base}\n`);
// A parent that is gone stops no child.
process.stdin.on("end", () => process.exit()).resume();
