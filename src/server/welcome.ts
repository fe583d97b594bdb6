import type { Service } from './service.ts';

/**
 * Returns what a start prints: the address, after a first start the key and a line to try it with, and while there is no
 * dashboard user the link that creates one.
 */
export function welcome({ url, firstKey, setupUrl }: Service): string {
  const lines = ['', `Chartledger listens on ${url}`];
  if (firstKey) {
    lines.push(
      '',
      `This is its first start: it made the workspace '${firstKey.workspace}' with one API key, shown only now:`,
      '',
      `  ${firstKey.key}`,
      '',
      'Try it:',
      '',
      `  curl ${url}/integration/payers -H 'x-api-key: ${firstKey.key}' -H 'content-type: application/json' -d '{"id": "payer-1", "name": "Aetna"}'`,
    );
  }
  if (setupUrl) {
    lines.push(
      '',
      'The dashboard has no user yet. This link makes its first administrator, once, within 24 hours:',
      '',
      `  ${setupUrl}`,
    );
  }
  return `${lines.join('\n')}\n\n`;
}
