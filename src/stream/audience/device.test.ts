import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceOf } from "./device.ts";

test("recognizes browsers, players, systems and devices by their user agents", () => {
  const cases: [userAgent: string, expected: string][] = [
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36",
      "Chrome Windows desktop",
    ],
    [
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36 Edg/143.0.0.0",
      "Edge Windows desktop",
    ],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15",
      "Safari macOS desktop",
    ],
    ["Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0", "Firefox Linux desktop"],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/143.0 Mobile/15E148 Safari/604.1",
      "Chrome iOS mobile",
    ],
    [
      "Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
      "Safari iOS tablet",
    ],
    [
      "Mozilla/5.0 (Linux; Android 16; Pixel 10) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/29.0 Chrome/143.0 Mobile Safari/537.36",
      "Samsung Internet Android mobile",
    ],
    [
      "Mozilla/5.0 (Linux; Android 15; SM-X910) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36",
      "Chrome Android tablet",
    ],
    ["AppleCoreMedia/1.0.0.23A341 (Apple TV; U; CPU OS 26_0 like Mac OS X; en_us)", "AppleCoreMedia tvOS tv"],
    ["app/1.0 (Linux;Android 14) ExoPlayerLib/2.19.1", "ExoPlayer Android mobile"],
    ["Mozilla/5.0 (SMART-TV; LINUX; Tizen 8.0) AppleWebKit/537.36 Chrome/108.0 TV Safari/537.36", "Chrome Tizen tv"],
    ["Lavf/62.3.100", "FFmpeg Other other"],
    ["", "Other Other other"],
    ["x".repeat(100_000), "Other Other other"],
  ];
  for (const [userAgent, expected] of cases) {
    const { browser, os, type } = deviceOf(userAgent);
    assert.equal(`${browser} ${os} ${type}`, expected, userAgent.slice(0, 200));
  }
});
