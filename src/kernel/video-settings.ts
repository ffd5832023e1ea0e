import { z } from "zod";
import { count, group, host, port } from "./setting-types.ts";

export const streamSettings = group("Video: uploads, processing and playback", {
  ffmpeg: z
    .string()
    .default("")
    .meta({ description: "The program; empty: `ffmpeg` of the PATH", example: "/usr/bin/ffmpeg" }),
  ffprobe: z
    .string()
    .default("")
    .meta({ description: "The program; empty: `ffprobe` of the PATH", example: "/usr/bin/ffprobe" }),
  sandbox: z.enum(["auto", "bwrap", "landlock", "prlimit"]).default("auto").meta({
    description:
      "How ffmpeg is confined: `bwrap` (namespaces) and `landlock` (kernel 5.13, unprivileged) must work if set; `prlimit` only limits memory, time and files. `auto`: the first one that works, but `prlimit` only if no other machine can reach the server",
    example: "bwrap",
  }),
  user_id: count(1_879_113_728, 1, 4_294_967_293, "User and group id that ffmpeg runs as if the server runs as root"),
  delivery_domain: z.string().default("").meta({
    description: "Videos are told to be at `customer-<code>.<this domain>`; empty: at the address of this server",
    example: "videos.example.com",
  }),
  upload_host: z.string().default("").meta({
    description:
      "Host name for uploads and upload pages, with a port if it differs from that of `http.public_url`; empty: this server's address",
    example: "uploads.example.com",
  }),
  upload_gb: z
    .number()
    .min(0.001)
    .max(1000)
    .default(30)
    .meta({ description: "Size of one upload, in GiB", example: 30 }),
  basic_upload_mb: count(200, 1, 100_000, "Size of an upload in one request (a form), in MiB"),
  chunk_mb: count(200, 0, 100_000, "Size of one request of a resumable upload, in MiB; 0: no limit"),
  max_duration_seconds: count(36_000, 1, 1_000_000, "Length of one video"),
  storage_minutes: count(
    0,
    0,
    1_000_000_000,
    "Minutes of video an account may keep, reserved ones included; 0: no limit",
  ),
  max_queued: count(120, 1, 100_000, "Videos of an account that wait for their processing or are in it"),
  min_deletion_days: z.number().min(0).max(1096).default(30).meta({
    description: "Days after its making that a video may be scheduled for deletion at the earliest",
    example: 30,
  }),
  ladder: z
    .array(z.enum(["240p", "360p", "480p", "720p", "1080p", "1440p", "2160p"]))
    .min(1)
    .default(["240p", "360p", "480p", "720p", "1080p"])
    .meta({
      description: "Renditions that are made, up to the size of the source; with 1440p or 2160p they are made too",
      example: ["240p", "360p", "480p", "720p", "1080p", "1440p", "2160p"],
    }),
  codecs: z
    .array(z.enum(["h264", "hevc", "av1"]))
    .min(1)
    .default(["h264"])
    .meta({ description: "Codecs every rendition is made in; h264 plays everywhere", example: ["h264", "av1"] }),
  passthrough: z.boolean().default(true).meta({
    description: "Whether a source that players can play is offered as it is too, beside the renditions",
    example: true,
  }),
  originals: z
    .boolean()
    .default(false)
    .meta({ description: "Whether the uploaded file can be downloaded", example: true }),
  encoders: count(
    0,
    0,
    256,
    "Encoders that fill ladders at once in this process; 0: one for each two processors, at least one",
  ),
  urgent_encoders: count(
    0,
    0,
    1000,
    "Segments that viewers wait for and that are encoded at once; 0: as many as there are processors, at least two",
  ),
  segment_cache_mb: count(
    64,
    0,
    65_536,
    "Memory for segments that several viewers ask for one after the other, in MiB; 0: none",
  ),
  allow_private: z.boolean().default(false).meta({
    description:
      "Whether videos, images and webhooks may be fetched from and sent to loopback, private and link-local addresses",
    example: false,
  }),
  caption_command: z
    .array(z.string().min(1))
    .default([])
    .meta({
      description:
        "Program that turns speech into captions, with its arguments: `{audio}` stands for a WAV file (16 kHz, mono), `{language}` for the language; it writes WebVTT to its standard output. Empty: captions are not generated",
      example: ["whisper-vtt", "--language", "{language}", "{audio}"],
    }),
  caption_languages: z
    .array(z.string().min(2))
    .default(["cs", "nl", "en", "fr", "de", "it", "ja", "ko", "pl", "pt", "ru", "es"])
    .meta({
      description: "Languages that captions are generated in, as BCP 47 has them; `en` stands for `en-GB` too",
      example: ["en", "uk"],
    }),
  caption_minutes: count(120, 1, 10_000, "Length of a video that captions are generated for"),
  token_hours: count(24, 0, 1_000_000, "Hours ahead that a playback token may be good for; 0: any"),
  country_database: z.string().default("").meta({
    description: "MaxMind DB file that tells the country of an address; empty: the one that comes with the program",
    example: "/usr/share/GeoIP/GeoLite2-Country.mmdb",
  }),
});

export const liveSettings = group("Live video: what is published, how it is packaged and kept", {
  host: host("Address to listen on, for RTMP, SRT and WebRTC"),
  rtmp: z.boolean().default(true).meta({
    description: "Whether to listen for RTMP in the clear; keys are read by whoever is on the way",
    example: false,
  }),
  rtmp_port: port(1935, "TCP port of RTMP; 0 takes a free one"),
  rtmps_port: port(
    1936,
    "TCP port of RTMPS, with the certificate of `tls`; 0 takes a free one. Clients of the hosted service expect 443",
  ),
  srt_port: port(8890, "UDP port of SRT; 0 takes a free one"),
  public_host: z.string().default("").meta({
    description: "Host that publishers and players of RTMP and SRT are told; empty: that of `http.public_url`",
    example: "live.example.com",
  }),
  webrtc_addresses: z
    .array(z.string().min(1))
    .default([])
    .meta({
      description: "IP addresses at which browsers reach this machine for WebRTC, where they are not its own",
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
    "Renditions that are encoded at once, in this process; 0: one for each processor but one, at least one. Above it broadcasts are offered as they come, with one small rendition or none",
  ),
  ladder: z
    .array(z.enum(["240p", "360p", "480p", "720p", "1080p"]))
    .default(["360p", "720p"])
    .meta({
      description:
        "Renditions that are made of a broadcast beside the source, below its size, the smallest first as long as there are encoders",
      example: ["360p"],
    }),
  connections: count(
    1000,
    1,
    100_000,
    "Connections of publishers and players at once, of RTMP and SRT each; of WebRTC as many publishers, and as many viewers",
  ),
  reconnect_seconds: count(
    20,
    1,
    3600,
    "Seconds that a broadcast waits for its publisher to come back, where the input does not say",
  ),
  segment_seconds: z
    .number()
    .min(1)
    .max(6)
    .default(2)
    .meta({ description: "Length that segments have at least; they end at the next key frame", example: 2 }),
  part_ms: count(
    200,
    100,
    1000,
    "Maximum part duration of low-latency HLS; players stay three parts behind the live edge",
  ),
  dvr_minutes: count(180, 1, 10_080, "Minutes that a viewer can go back in a running broadcast"),
});
