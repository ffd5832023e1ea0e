/** Prints one line of the output of `npm start`. */
export const printLine = (line = ""): void => void process.stdout.write(`${line}\n`);
export const printHeadline = (text: string): void => printLine(`\n${text}`);
export const printRow = (name: string, text: string): void => printLine(`  ${name.padEnd(18)} ${text}`);
