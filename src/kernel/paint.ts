import { styleText } from "node:util";

/** Styles a text for the terminal. */
export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

/** Returns a function that styles text, or returns it unchanged if the output has no colors. */
export const painter = ({ colour }: { colour: boolean }): Paint =>
  colour ? (format, text) => styleText(format, text, { validateStream: false }) : (_, text) => text;
