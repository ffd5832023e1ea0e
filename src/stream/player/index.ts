export { createPlayer } from "./player.ts";
