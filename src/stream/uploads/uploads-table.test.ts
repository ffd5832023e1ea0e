import assert from "node:assert/strict";
import { test } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import {
  createUploadsTable,
  hashOf,
  isSecretOf,
  NO_DATA_YET,
  uploadsMigrations,
  type UploadRow,
} from "./uploads-table.ts";

onEveryDatabase((engine) => {
  test("an upload is stored, updated, found among the unfinished uploads, and deleted long after it has finished", async (t) => {
    const { db } = await engine.open(t, uploadsMigrations);
    const table = createUploadsTable(db);
    const uid = (n: number) => n.toString(16).padStart(32, "0");
    await Promise.all(
      Array.from({ length: 1203 }, (_, n) =>
        table.insert({
          uid: uid(n),
          account_id: "a",
          kind: n % 2 === 0 ? "tus" : "copy",
          touched_at: NO_DATA_YET,
          ...(n === 7 && {
            secret: hashOf("secret"),
            length: 32_212_254_720,
            url: "http://example.com/ü",
            metadata: "name eA==",
          }),
        }),
      ),
    );
    const row = (await table.find(uid(7)))!;
    assert.deepEqual(row, {
      uid: uid(7),
      account_id: "a",
      kind: "copy",
      secret: hashOf("secret"),
      length: 32_212_254_720,
      metadata: "name eA==",
      url: "http://example.com/ü",
      version: null,
      source_key: null,
      touched_at: 0,
      finished_at: null,
    });
    assert.deepEqual(
      [isSecretOf(row, "secret"), isSecretOf(row, "secreT"), isSecretOf({ ...row, secret: null }, "")],
      [true, false, false],
    );

    await table.change(uid(7), { finished_at: 1000, touched_at: 2000, version: '"v"' });
    await table.change(uid(8), { finished_at: 3000 });
    await table.remove(uid(9));
    const left: UploadRow[] = [];
    for await (const each of table.unfinished()) left.push(each);
    assert.deepEqual(
      left.map((each) => each.uid),
      Array.from({ length: 1203 }, (_, n) => uid(n)).filter((_, n) => n < 7 || n > 9),
    );
    assert.equal(await table.deleteFinished(3000), false);
    assert.deepEqual(
      [await table.find(uid(7)), (await table.find(uid(8)))?.finished_at, await table.find(uid(9))],
      [undefined, 3000, undefined],
    );
  });
});
