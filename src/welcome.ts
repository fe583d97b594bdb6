import type { Service } from './service.ts';

/** What a start prints: the address, and after a first start the key and a line to try it with. */
export function welcome({ url, firstKey }: Service): string {
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
  return `${lines.join('\n')}\n\n`;
}
