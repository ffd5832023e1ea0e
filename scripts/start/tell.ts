/** Prints one line of the output of `npm start`. */
export const say = (line = ""): void => void process.stdout.write(`${line}\n`);
export const headline = (text: string): void => say(`\n${text}`);
export const row = (name: string, text: string): void => say(`  ${name.padEnd(18)} ${text}`);
