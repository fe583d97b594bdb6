import { existsSync, readFileSync } from 'node:fs';
import { outputFolder } from './output.ts';

export interface LogLine {
  level: number;
  msg: string;
  code?: string;
}

/** What the services of this process logged so far, or what of it holds a text. */
export function logLines(holding = ''): LogLine[] {
  const path = `${outputFolder}/logs/${process.pid}.log`;
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.filter((line) => line !== '' && line.includes(holding)).map((line) => JSON.parse(line));
}
