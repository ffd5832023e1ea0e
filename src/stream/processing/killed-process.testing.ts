// A separate process for a test to kill. Usage: node killed-process.testing.ts FOLDER CLIP
import { openProcessing } from "./processing.testing.ts";

const [folder, clip] = process.argv.slice(2) as [string, string];
const { upload, until } = await openProcessing({ after: () => {} }, { folder });
const uid = await upload(clip);
await until(uid, ({ pctComplete }) => pctComplete > 20);
process.stdout.write(`${uid}\n`);
