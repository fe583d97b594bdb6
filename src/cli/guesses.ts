import type { Command } from 'commander';
import { catalog } from '../domain/records/catalog.ts';

/** Verbs that are accepted for those of a noun; `*`: of every noun. */
const verbs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '*': { ls: 'list' },
  records: { delete: 'erase', show: 'get' },
  webhooks: { roll: 'rotate', 'rotate-secret': 'rotate' },
  messages: { retry: 'resend', get: 'show' },
};

/** Options that are accepted for those of a command; without any, only their value remains. */
const options: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '*': { '-w': ['--workspace'] },
  'audit list': { '--refused': ['--outcome', 'refused'], '--status': ['--outcome'] },
  'keys create': {
    '--scope': ['--permissions'],
    '--scopes': ['--permissions'],
    '--permission': ['--permissions'],
  },
  'messages list': { '--parked': ['--rejected'] },
  'messages resend': { '--all': [] },
  'records erase': { '--cascade': ['--with-encounters'] },
  'retention set': { '--years': [] },
};

/** Verbs with which people mean the same: that of a noun is suggested for the others. */
const sameMeaning: readonly (readonly string[])[] = [
  ['create', 'add', 'new', 'place', 'put'],
  ['delete', 'erase', 'release', 'remove', 'rm', 'destroy', 'revoke', 'lift'],
  ['set', 'update', 'edit', 'change', 'configure'],
  ['list', 'get', 'show', 'status', 'view', 'describe', 'info'],
  ['history', 'log', 'versions'],
  ['resend', 'retry', 'replay', 'reprocess'],
  ['rotate', 'renew', 'roll'],
  ['deactivate', 'disable', 'suspend', 'lock'],
  ['activate', 'enable', 'resume', 'unlock'],
];

/** What is suggested for words that are no noun. */
const suggested: Readonly<Record<string, string>> = {
  check: 'doctor',
  health: 'doctor',
  status: 'doctor',
  start: 'serve',
  run: 'serve',
  version: '--version',
  logs: 'audit',
  requests: 'audit list --outcome refused',
};

/** Those that show a list or do something without a verb. */
const defaultVerbs: Readonly<Record<string, string>> = { audit: 'list', retention: 'list' };

/**
 * Returns the arguments after `chartledger` with the names of this program for those that newcomers guess. Neither help nor completion
 * lists what is accepted here. `nouns`: the commands that have verbs.
 */
export function acceptGuesses(args: readonly string[], nouns: readonly string[]): string[] {
  const at = args.findIndex((arg) => !arg.startsWith('-'));
  if (at < 0) return [...args];
  const [word = '', ...rest] = args.slice(at);
  const [noun, ...others] = nounOf(word, rest, nouns);
  const isVerb = others[0] !== undefined && !others[0].startsWith('-');
  const verb = isVerb && nouns.includes(noun) ? meant(verbs, noun, others[0] as string) : undefined;
  const left = verb === undefined ? others : [verb, ...others.slice(1)];
  const command = `${noun} ${isVerb ? left[0] : (defaultVerbs[noun] ?? '')}`;
  return [...args.slice(0, at), noun, ...left.flatMap((arg) => optionOf(command, arg))];
}

/** Returns a noun and what follows it: `key` is `keys`, and `patients get ID` is `records get patient ID`. */
function nounOf(word: string, rest: readonly string[], nouns: readonly string[]): [string, ...string[]] {
  if (nouns.includes(`${word}s`)) return [`${word}s`, ...rest];
  if (word === 'history' || word === 'copy') return ['records', word, ...rest];
  const entry = catalog.find(({ kind, plural }) => word === kind || word === plural);
  const [verb, ...others] = rest;
  if (entry === undefined || verb === undefined || verb.startsWith('-')) return [word, ...rest];
  return ['records', verb, entry.kind, ...others];
}

function meant<Meaning>(
  table: Readonly<Record<string, Readonly<Record<string, Meaning>>>>,
  of: string,
  word: string,
): Meaning | undefined {
  const found = [table[of], table['*']].find((words) => words && Object.hasOwn(words, word));
  return found?.[word];
}

function optionOf(command: string, arg: string): string[] {
  const [flag = '', ...value] = arg.split('=');
  const names = meant(options, command, flag);
  if (names === undefined) return [arg];
  return value.length === 0 ? [...names] : [[...names, value.join('=')].join('=')];
}

/** Returns what the words after `chartledger` may mean, where it is no command of the program: `holds create` for `holds add`. */
export function suggestionFor(
  [noun = '', verb = '']: readonly string[],
  program: Command,
): string | undefined {
  const found = program.commands.find((command) => command.name() === noun);
  if (found === undefined) return Object.hasOwn(suggested, noun) ? suggested[noun] : undefined;
  const own = found.commands.map((command) => command.name());
  if (own.includes(verb)) return undefined;
  const meanings = sameMeaning.filter((words) => words.includes(verb)).flat();
  const likely = own.find((name) => meanings.includes(name));
  return likely && `${noun} ${likely}`;
}
