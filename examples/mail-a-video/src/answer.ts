import type { Published } from "./publish.ts";

/** Text and HTML of the reply: each video with its thumbnail as a link. */
export function answerOf(videos: Published[]): { text: string; html: string } {
  return {
    text: `${videos.map(textOf).join("\n")}\n`,
    html: `<div style="font: 15px/1.5 system-ui, sans-serif">${videos.map(htmlOf).join("\n")}</div>`,
  };
}

const textOf = ({ name, watch, problem }: Published) =>
  problem === undefined ? `${name}\n${watch}\n` : `${name} could not be published: ${problem}\n`;

function htmlOf({ name, watch, thumbnail, problem }: Published): string {
  if (problem !== undefined) return `<p><b>${escaped(name)}</b> could not be published: ${escaped(problem)}</p>`;
  return `<p><a href="${escaped(watch)}"><img src="${escaped(thumbnail)}" alt="Watch ${escaped(name)}" height="270" style="border-radius: 8px"></a><br><a href="${escaped(watch)}">Watch ${escaped(name)}</a></p>`;
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
