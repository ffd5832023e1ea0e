// A separate process for a test to kill: node killed-process.testing.ts FOLDER. Prints a line for every video fragment
// that it has passed on.
import { join } from "node:path";
import { randomIds, silentLog, systemClock } from "../../../kernel/index.ts";
import { openBroadcasts } from "./real.testing.ts";

const folder = process.argv[2]!;
const { connectPublisher, broadcasts } = await openBroadcasts({
  folder: join(folder),
  clock: systemClock,
  ids: randomIds,
  log: silentLog,
});
broadcasts.start();
const session = connectPublisher();
session.onMade(({ time, duration }) => void process.stdout.write(`${time + duration}\n`));
