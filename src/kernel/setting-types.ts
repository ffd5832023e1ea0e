import { z } from "zod";
import { parseNetwork } from "./networks.ts";

/** Field types shared by the settings schema. */
export const port = (preset: number, description: string) =>
  z.number().int().min(0).max(65_535).default(preset).meta({ description, example: preset });
export const host = (description: string) =>
  z.string().min(1).default("127.0.0.1").meta({ description, example: "127.0.0.1" });
export const count = (preset: number, min: number, max: number, description: string) =>
  z.number().int().min(min).max(max).default(preset).meta({ description, example: preset });
export const ranges = (preset: string[], description: string, example: string) =>
  z
    .array(
      z
        .string()
        .min(1)
        .refine((text) => parseNetwork(text) !== undefined, "is neither an IP address nor a range"),
    )
    .default(preset)
    .meta({ description, example: [example] });
export const group = <Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .meta({ description });
