import { cpus } from 'node:os';
import type { Check, Report, Scenario, Table } from '../scenario.ts';
import { clientName } from './load/clientName.ts';
import type { Spread } from './statistics.ts';

/** Returns three significant digits, or whole numbers with thousands separated. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** Returns `1.72 (1.60–1.81)`; the range only where there were several rounds. */
export function withRange({ median, min, max }: Spread): string {
  return min === max ? number(median) : `${number(median)} (${number(min)}–${number(max)})`;
}

/** Returns a table in Markdown. */
export function markdown({ columns, rows }: Table): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, index) => (index === 0 ? '---' : '---:'));
  return [line(columns), line(rule), ...rows.map(line)].join('\n');
}

function targetOf({ target, unit }: Check): string {
  if (target === undefined) return '';
  const text = 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`;
  return `${text} ${unit}${target.stretch === undefined ? '' : `, better ${target.stretch}`}`;
}

function verdict({ target, measured }: Check): string {
  if (target === undefined) return '';
  const met = 'atLeast' in target ? measured.median >= target.atLeast : measured.median <= target.atMost;
  return met ? '✓' : '✗';
}

function checkTable(checks: Check[]): Table {
  return {
    columns: ['what', 'measured', 'target', ''],
    rows: checks.map((check) => [
      check.what,
      `${withRange(check.measured)} ${check.unit}`.trim(),
      targetOf(check),
      verdict(check),
    ]),
  };
}

/** Returns where and when, in one line. */
export function circumstances(quick: boolean): string {
  const processors = cpus();
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const form = quick ? 'quick form' : 'full form';
  return `Node ${process.version}, ${processors.length} CPUs (${processors[0]?.model.trim()}), ${process.platform}, client ${clientName()}, ${date} UTC, ${form}.`;
}

/** Returns a scenario's section in Markdown. */
export function section({ name, description }: Scenario, report: Report, quick: boolean): string {
  const tables = [...report.figures, ...(report.checks.length > 0 ? [checkTable(report.checks)] : [])];
  return [`## ${name}`, description, circumstances(quick), ...tables.map(markdown)].join('\n\n');
}
