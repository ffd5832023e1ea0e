import { z } from "zod";
import { count, group, host, port, ranges } from "./setting-types.ts";

export const streamSettings = group("Video: uploads, processing and playback", {
  ffmpeg: z.string().default("").meta({ description: "Path of ffmpeg; empty: from PATH", example: "/usr/bin/ffmpeg" }),
  ffprobe: z
    .string()
    .default("")
    .meta({ description: "Path of ffprobe; empty: from PATH", example: "/usr/bin/ffprobe" }),
  sandbox: z.enum(["auto", "bwrap", "landlock", "prlimit"]).default("auto").meta({
    description:
      "How ffmpeg is confined. `bwrap`: by namespaces. `landlock`: without privileges, on kernel 5.13 or later. `prlimit`: only by limits on memory, time and file size. `auto`: the first of these that works; `prlimit` is used only if no other machine can reach the server",
    example: "bwrap",
  }),
  encoder: z
    .enum(["auto", "software", "h264_nvenc", "h264_qsv", "h264_vaapi", "h264_videotoolbox"])
    .default("auto")
    .meta({
      description:
        "Encoder of H.264 renditions. `auto`: the first hardware encoder that passes a test at start, otherwise `software`. A name: only this hardware encoder is tested",
      example: "software",
    }),
  user_id: count(1_879_113_728, 1, 4_294_967_293, "User and group id that ffmpeg runs as if the server runs as root"),
  delivery_domain: z.string().default("").meta({
    description:
      "Parent domain of video hosts, `customer-<code>.<this domain>`; empty: videos use the URL of this server",
    example: "videos.example.com",
  }),
  upload_host: z.string().default("").meta({
    description:
      "Host name for uploads and upload pages, with a port if it differs from that of `http.public_url`; empty: this server's host",
    example: "uploads.example.com",
  }),
  upload_gb: z
    .number()
    .min(0.001)
    .max(1000)
    .default(30)
    .meta({ description: "Maximum upload size in GiB", example: 30 }),
  basic_upload_mb: count(200, 1, 100_000, "Maximum size of a form upload, in MiB"),
  chunk_mb: count(200, 0, 100_000, "Maximum chunk size of a resumable upload, in MiB; 0: no limit"),
  max_duration_seconds: count(36_000, 1, 1_000_000, "Maximum duration of a video"),
  storage_minutes: count(
    0,
    0,
    1_000_000_000,
    "Maximum minutes of video per account, including reservations; 0: no limit",
  ),
  max_queued: count(120, 1, 100_000, "Maximum number of videos per account that are queued or being processed"),
  min_deletion_days: z.number().min(0).max(1096).default(30).meta({
    description: "Minimum days between creation and scheduled deletion of a video",
    example: 30,
  }),
  ladder: z
    .array(z.enum(["240p", "360p", "480p", "720p", "1080p", "1440p", "2160p"]))
    .min(1)
    .default(["240p", "360p", "480p", "720p", "1080p"])
    .meta({
      description: "Renditions to encode, up to the size of the source; list 1440p or 2160p to enable them",
      example: ["240p", "360p", "480p", "720p", "1080p", "1440p", "2160p"],
    }),
  codecs: z
    .array(z.enum(["h264", "hevc", "av1"]))
    .min(1)
    .default(["h264"])
    .meta({ description: "Codecs of every rendition; h264 plays everywhere", example: ["h264", "av1"] }),
  passthrough: z.boolean().default(true).meta({
    description: "Also offer a playable source unchanged, next to the renditions",
    example: true,
  }),
  originals: z.boolean().default(false).meta({ description: "Allow downloading the uploaded file", example: true }),
  encoders: count(
    0,
    0,
    256,
    "Maximum number of background encoders in this process; 0: half the number of processors, at least one",
  ),
  urgent_encoders: count(
    0,
    0,
    1000,
    "Maximum number of concurrent on-demand segment encoders; 0: the number of processors, at least two",
  ),
  segment_cache_mb: count(64, 0, 65_536, "Segment cache in MiB; 0: disabled"),
  allow_private: z.boolean().default(false).meta({
    description:
      "Allow loopback, private and link-local addresses for fetched videos and images, webhooks and live outputs",
    example: false,
  }),
  caption_command: z
    .array(z.string().min(1))
    .default([])
    .meta({
      description:
        "Speech recognition program with arguments: `{audio}` is a WAV file (16 kHz, mono), `{language}` the language; it prints WebVTT. Empty: captions cannot be generated",
      example: ["whisper-vtt", "--language", "{language}", "{audio}"],
    }),
  caption_languages: z
    .array(z.string().min(2))
    .default(["cs", "nl", "en", "fr", "de", "it", "ja", "ko", "pl", "pt", "ru", "es"])
    .meta({
      description: "Languages of generated captions (BCP 47); `en` includes `en-GB`",
      example: ["en", "uk"],
    }),
  caption_minutes: count(120, 1, 10_000, "Maximum duration of a video for generated captions, in minutes"),
  token_hours: count(24, 0, 1_000_000, "Maximum lifetime of a playback token in hours; 0: no limit"),
  analytics_days: count(90, 1, 3660, "Days to keep views, minutes viewed and peaks; hourly metrics at most 31 days"),
  country_database: z.string().default("").meta({
    description: "MaxMind DB file that maps addresses to countries; empty: the bundled one",
    example: "/usr/share/GeoIP/GeoLite2-Country.mmdb",
  }),
});

export const liveSettings = group("Live video: ingest, packaging and recording", {
  host: host("Address to listen on, for RTMP, SRT and WebRTC"),
  rtmp: z.boolean().default(true).meta({
    description: "Enable RTMP without TLS; stream keys can be intercepted",
    example: false,
  }),
  rtmp_port: port(1935, "TCP port of RTMP; 0 selects a free one"),
  rtmps_port: port(
    1936,
    "TCP port of RTMPS with the `tls` certificate; 0 selects a free one. Clients of the hosted service expect 443",
  ),
  srt_port: port(8890, "UDP port of SRT; 0 selects a free one"),
  proxies: ranges(
    [],
    "Addresses and ranges of load balancers that send a PROXY header (version 1 or 2) at the start of each connection to the RTMP and RTMPS ports",
    "10.0.0.5",
  ),
  public_host: z.string().default("").meta({
    description: "Public host of RTMP and SRT; empty: that of `http.public_url`",
    example: "live.example.com",
  }),
  webrtc_addresses: z
    .array(z.string().min(1))
    .default([])
    .meta({
      description: "Public IP addresses for WebRTC, if they are not the machine's own",
      example: ["203.0.113.7"],
    }),
  webrtc_ports: z
    .tuple([z.number().int().min(0).max(65_535), z.number().int().min(0).max(65_535)])
    .default([0, 0])
    .meta({ description: "First and last UDP port of WebRTC; [0, 0]: any", example: [50_000, 50_100] }),
  encoders: count(
    0,
    0,
    256,
    "Maximum number of live renditions encoded in this process; 0: the number of processors minus one, at least one. Further broadcasts are offered unchanged, with one small rendition or none",
  ),
  ladder: z
    .array(z.enum(["240p", "360p", "480p", "720p", "1080p"]))
    .default(["360p", "720p"])
    .meta({
      description:
        "Renditions of live broadcasts in addition to the source, if smaller than the source; the smallest ones are encoded first, while encoders are available",
      example: ["360p"],
    }),
  connections: count(
    1000,
    1,
    100_000,
    "Maximum number of concurrent connections for each of RTMP, SRT, WebRTC publishers and WebRTC viewers",
  ),
  reconnect_seconds: count(20, 1, 3600, "Default seconds to wait for a publisher to reconnect"),
  segment_seconds: z
    .number()
    .min(1)
    .max(6)
    .default(2)
    .meta({ description: "Minimum segment length; segments end at the next key frame", example: 2 }),
  part_ms: count(
    200,
    100,
    1000,
    "Maximum part duration of low-latency HLS; players stay three parts behind the live edge",
  ),
  dvr_minutes: count(180, 1, 10_080, "Minutes that a viewer can seek back in a running broadcast"),
});
