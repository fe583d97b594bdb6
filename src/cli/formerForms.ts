/** The arguments of a command in their present form, and what to say about a former one. */
interface PresentForm {
  words: string[];
  note?: string;
}

/** Commands of 0.1.0, with what they are called now. */
const renamed = new Map(
  Object.entries({
    erase: 'records erase',
    prove: 'records prove',
    'prove-consistency': 'heads prove',
    'signing-key': 'secrets show signing',
    'hold add': 'holds create',
    reference: 'code-sets',
    'keys update': 'keys set',
    'keys limit': 'keys set',
    'sources remove': 'sources delete',
    'webhooks update': 'webhooks set',
    'webhooks secret': 'webhooks rotate',
    'readiness filing-limit': 'readiness set-filing-limit',
  }),
);

const times = { '--from': '--since', '--to': '--until' };

/** Their options, by command. */
const renamedOptions = new Map<string, Readonly<Record<string, string>>>(
  Object.entries({
    export: times,
    audit: times,
    disclosures: times,
    'readiness simulate': times,
    'readiness scorecard': times,
    'webhooks replay': { '--from': '--since' },
    'events tail': { '--from': '--after' },
    listen: { '--from': '--after' },
    'keys rotate': { '--expires-in': '--expires' },
    'webhooks rotate': { '--overlap': '--expires' },
  }),
);

/**
 * Returns the arguments after `chartledger` in their present form: commands and options of 0.1.0 are accepted in this release, and no longer in
 * the next. `note` says what they are called now.
 */
export function presentForm(args: readonly string[]): PresentForm {
  const at = args.findIndex((arg) => !arg.startsWith('-'));
  if (at < 0) return { words: [...args] };
  const { name, words, former } = presentCommand(args.slice(at));
  const options = renamedOptions.get(name) ?? {};
  const notes = former === undefined ? [] : [`\`chartledger ${former}\` is now \`chartledger ${name}\``];
  const renamedWords = words.map((word) => {
    const [flag = '', ...value] = word.split('=');
    const present = Object.hasOwn(options, flag) ? options[flag] : undefined;
    if (present === undefined) return word;
    notes.push(`\`${flag}\` is now \`${present}\``);
    return [present, ...value].join('=');
  });
  return {
    words: [...args.slice(0, at), ...renamedWords],
    ...(notes.length > 0 && {
      note: `${notes.join('; ')}. The next release no longer accepts the former name.`,
    }),
  };
}

/** Returns the words of a command in their present form, its present name, and the former one if it has another. */
function presentCommand([noun = '', verb = '', ...rest]: readonly string[]) {
  const both = `${noun} ${verb}`;
  if (both === 'workspaces retention') {
    const years = rest.findLastIndex((word) => !word.startsWith('-'));
    const [id = '', ...others] = rest.filter((_, at) => at !== years);
    const words = ['retention', 'set', ...rest.slice(years, years + 1), ...others, '--workspace', id];
    return { name: 'retention set', words, former: both };
  }
  if (noun === 'retention' && rest.concat(verb).includes('--apply')) {
    const options = [verb, ...rest].filter((word) => word !== '--apply');
    return {
      name: 'retention apply',
      words: ['retention', 'apply', ...options],
      former: 'retention --apply',
    };
  }
  const name = renamed.get(both);
  if (name !== undefined) return { name, words: [...name.split(' '), ...rest], former: both };
  const given = verb === '' ? rest : [verb, ...rest];
  const present = renamed.get(noun);
  if (present !== undefined) return { name: present, words: [...present.split(' '), ...given], former: noun };
  return { name: renamedOptions.has(noun) ? noun : both, words: [noun, ...given] };
}
