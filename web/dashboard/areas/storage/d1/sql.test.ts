import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, quoteName, textOfValue } from "./sql.ts";

test("CSV quotes fields that contain commas, quotes and line breaks", () => {
  const table = {
    columns: ["id", 'a "b"'],
    rows: [
      [1, "x,y"],
      [null, "two\nlines"],
    ],
  };
  assert.equal(csvOf(table), 'id,"a ""b"""\r\n1,"x,y"\r\n,"two\nlines"\r\n');
});

test("a name with a quote stays one identifier", () => {
  assert.equal(quoteName('a"; DROP TABLE b; --'), '"a""; DROP TABLE b; --"');
});

test("a BLOB is shown in hexadecimal and null as NULL", () => {
  assert.deepEqual([textOfValue([0, 255]), textOfValue(null), textOfValue(1.5)], ["00ff", "NULL", "1.5"]);
});
