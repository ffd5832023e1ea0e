/** A viewer's software. The names come from a fixed list, which limits the size of the stored metrics. */
interface Device {
  browser: string;
  os: string;
  type: "desktop" | "mobile" | "tablet" | "tv" | "other";
}

/** The order matters: the user agents of many browsers also contain the name of another browser. */
const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/AppleCoreMedia/, "AppleCoreMedia"],
  [/ExoPlayer|AndroidXMedia3/, "ExoPlayer"],
  [/\bRoku/, "Roku"],
  [/CrKey/, "Chromecast"],
  [/\bVLC\/|LibVLC/, "VLC"],
  [/\bLavf\/|\bmpv\b|FFmpeg/i, "FFmpeg"],
  [/GStreamer/, "GStreamer"],
  [/\bEdgA?\/|\bEdgiOS\/|\bEdge\//, "Edge"],
  [/\bOPR\/|\bOPiOS\/|\bOpera\b/, "Opera"],
  [/SamsungBrowser\//, "Samsung Internet"],
  [/\bYaBrowser\//, "Yandex Browser"],
  [/\bFxiOS\/|\bFirefox\//, "Firefox"],
  [/\bCriOS\/|\bHeadlessChrome\/|\bChrome\/|\bChromium\//, "Chrome"],
  [/\bVersion\/[\d.]+.* Safari\/|\bSafari\//, "Safari"],
  [/AppleWebKit\//, "WebKit"],
  [/\bTrident\/|\bMSIE /, "Internet Explorer"],
];

const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/Apple ?TV|tvOS/, "tvOS"],
  [/iPad|iPhone|iPod|\biOS\b/, "iOS"],
  [/Tizen/, "Tizen"],
  [/Web0S|webOS/, "webOS"],
  [/\bRoku/, "Roku OS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh|macOS/, "macOS"],
  [/Linux|X11/, "Linux"],
];

const OTHER = "Other";
/** A longer user agent is truncated: the names are at its start. */
const MAX_LENGTH = 512;

export function deviceOf(userAgent: string): Device {
  const text = userAgent.slice(0, MAX_LENGTH);
  const nameIn = (list: typeof BROWSERS) => list.find(([pattern]) => pattern.test(text))?.[1] ?? OTHER;
  const os = nameIn(SYSTEMS);
  return { browser: nameIn(BROWSERS), os, type: typeOf(text, os) };
}

function typeOf(text: string, os: string): Device["type"] {
  if (/\b(Smart-?TV|SMART-TV|GoogleTV|Android TV|BRAVIA|AFT[A-Z]|CrKey|HbbTV)/i.test(text)) return "tv";
  switch (os) {
    case "tvOS":
    case "Tizen":
    case "webOS":
    case "Roku OS":
      return "tv";
    case "iOS":
      return text.includes("iPad") ? "tablet" : "mobile";
    case "Android":
      return /\bMobile\b/.test(text) || !/\bSafari\//.test(text) ? "mobile" : "tablet";
    case "Windows":
    case "macOS":
    case "Linux":
    case "ChromeOS":
      return "desktop";
    default:
      return "other";
  }
}
