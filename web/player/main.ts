// Script of the pages `/{id}/iframe` and `/{id}/watch`.
import type { PageConfig } from "../../src/stream/player/page-config.ts";
import { makeAccessible } from "./accessible.ts";
import { createApp } from "./app.ts";
import { openChannel } from "./channel.ts";
import { listenToKeys } from "./keyboard.ts";
import { readOptions } from "./options.ts";
import { createProperties } from "./properties.ts";

const config = JSON.parse(document.getElementById("config")?.textContent ?? "") as PageConfig;
const options = readOptions(new URLSearchParams(location.search));
if (config.mode === "watch" && !new URLSearchParams(location.search).has("preload")) options.preload = "metadata";

const app = createApp(config, options);
const properties = createProperties(app);
const { controller, video } = app.layout;
(document.getElementById("player") ?? document.body).prepend(controller);
makeAccessible(controller);
listenToKeys(controller, video, () => !options.controls);
openChannel(app, properties);
if (options.src !== undefined) properties.write("src", options.src);
