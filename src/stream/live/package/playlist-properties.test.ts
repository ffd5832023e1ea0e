import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  AUDIO_RENDITION,
  createTestBroadcast,
  fragmentsOf,
  inOrderOfArrival,
  runOf,
  SMALL,
  SOURCE,
  RENDITION_NAMES,
} from "./package.testing.ts";
import type { PlaylistRange } from "./playlists.ts";
import {
  assertFollows,
  assertPreloadHintFulfilled,
  assertValid,
  type ParsedPlaylist,
} from "./read-playlist.testing.ts";

/** The playlists that players request. */
const RANGES: PlaylistRange[] = [
  { range: "window" },
  { range: "window", lowLatency: true },
  { range: "dvr", lowLatency: true, skip: true },
  { range: "dvr" },
];

test("any input produces valid playlists consistent with the previous ones, and no octet is lost", () => {
  const durations = fc.array(
    fc.integer({ min: 10, max: 400 }).map((ms) => ms / 1000),
    { minLength: 1, maxLength: 60 },
  );
  const shape = fc.record({
    video: durations,
    audio: durations,
    keys: fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
    delays: fc.record({
      "90p": fc.double({ min: 0, max: 3, noNaN: true }),
      audio: fc.double({ min: -3, max: 3, noNaN: true }),
    }),
    small: fc.boolean(),
    offset: fc.double({ min: -0.5, max: 0.5, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(shape, { minLength: 1, maxLength: 3 }), fc.constantFrom(1, 2), (runs, segmentSeconds) => {
      const { broadcast, cuts, playlist } = createTestBroadcast({ segmentSeconds });
      const before = new Map<string, ParsedPlaylist>();
      const look = () => {
        for (const [index, extent] of RANGES.entries()) {
          for (const name of RENDITION_NAMES) {
            const now = playlist(name, extent);
            assertValid(now);
            const old = before.get(`${index}/${name}`);
            if (old !== undefined) assertFollows(old, now);
            // Audio hints hold only for fragments cut at frames; in this test audio fragments have arbitrary lengths.
            if (old !== undefined && name !== "audio") assertPreloadHintFulfilled(old, now);
            before.set(`${index}/${name}`, now);
          }
        }
      };
      const fed = new Map<string, string>();
      for (const [number, { video, audio, keys, delays, small, offset }] of runs.entries()) {
        const sink = broadcast.run(
          runOf(number + 1, { renditions: small ? [SOURCE, SMALL, AUDIO_RENDITION] : [SOURCE, AUDIO_RENDITION] }),
        );
        const isKey = (_time: number, index: number) => index === 0 || keys[index % keys.length]!;
        const label = `${number}/`;
        const all = [
          ...fragmentsOf("source", video, isKey, { from: 1, label }),
          ...(small ? fragmentsOf("90p", video, isKey, { from: 1, label }) : []),
          ...fragmentsOf("audio", audio, () => true, { from: 1 + offset, label }),
        ];
        for (const fragment of inOrderOfArrival(all, delays)) {
          sink.fragment(fragment);
          fed.set(fragment.rendition, (fed.get(fragment.rendition) ?? "") + fragment.bytes.toString());
          look();
        }
        sink.end();
        look();
      }
      broadcast.end();
      look();
      for (const name of RENDITION_NAMES)
        assert.equal(cuts.flatMap(({ bytes }) => bytes[name] ?? []).join(""), fed.get(name) ?? "", name);
      assert.deepEqual(
        cuts.map(({ segment }) => segment),
        broadcast.timeline().segments,
      );
      assert.deepEqual(
        broadcast.timeline().segments.map(({ n }) => n),
        cuts.map((_, n) => n),
      );
    }),
    {
      numRuns: 40,
      // The last run adds a segment long enough to raise the target duration.
      examples: [
        [
          [
            { video: [0.01], audio: [0.01], keys: [false], delays: { "90p": 0, audio: 0 }, small: false, offset: 0 },
            {
              video: [0.097, 0.266, 0.166, 0.236, 0.162, 0.057, 0.229, 0.25, 0.11],
              audio: [0.01],
              keys: [true],
              delays: { "90p": 0, audio: 0 },
              small: false,
              offset: 0,
            },
            {
              video: [0.104, 0.208, 0.17, 0.248, 0.359, 0.338, 0.073],
              audio: [0.01],
              keys: [false],
              delays: { "90p": 0, audio: 0 },
              small: false,
              offset: 0,
            },
          ],
          1,
        ],
      ],
    },
  );
});
