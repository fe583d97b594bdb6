import { rules } from '../../src/readiness/rules/index.ts';
import { code, page, table } from './markdown.ts';

const ofVoid = rules.filter(({ holdsForVoid }) => holdsForVoid);

/** `docs/reference/readiness-rules.md` */
export function readinessPage(): string {
  return page(
    'Rules of readiness',
    'What [the readiness of an encounter](../guides/check-readiness.md) is told by. A rule that blocks keeps an encounter from being `ready`; one that ' +
      'warns does not. Where a workspace cannot let a rule block, the table says so. ' +
      `In an encounter that is void only ${ofVoid.map(({ code: name }) => code(name)).join(', ')} finds anything.`,
    table(
      ['rule', 'severity', 'demands', 'looks at', 'source'],
      rules.map(({ code: name, severity, title, reads, source }) => [
        code(name),
        severity,
        title,
        reads.map(code).join(', '),
        source,
      ]),
    ),
  );
}
