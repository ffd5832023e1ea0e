import { openUploadsFixture } from "./uploads.testing.ts";

/**
 * The uploads service in a process that can be killed: `node upload-process.testing.ts <folder> <port>` prints its URL,
 * then serves requests.
 */
const [, , folder, port] = process.argv;
const { base } = await openUploadsFixture({ folder: folder!, port: Number(port) });
process.stdout.write(`${base}\n`);
// A child process does not end when its parent dies, so it exits when stdin ends.
process.stdin.on("end", () => process.exit()).resume();
