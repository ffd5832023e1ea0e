// Runs the test files of the URL parameter `files`, a JSON array of paths, one after the other. Each file is a suite,
// so its hooks apply to its own tests.
import { after, describe } from "node:test";
import { pathToFileURL } from "node:url";

const { files, root } = Object.fromEntries(new URL(import.meta.url).searchParams) as { files: string; root: string };

for (const file of JSON.parse(files) as string[])
  await new Promise<void>((ended) => {
    describe(file, async () => {
      try {
        await import(pathToFileURL(`${root}/${file}`).href);
      } finally {
        after(() => ended());
      }
    });
  });
