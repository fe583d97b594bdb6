import { describeSettings } from '../../src/platform/settings.ts';
import { code, page, table } from './markdown.ts';

/** `docs/reference/settings.md` */
export function settingsPage(): string {
  const rows = describeSettings().map(({ name, defaultValue, whenUnset, description }) => [
    code(name),
    defaultValue === undefined ? (whenUnset ?? '') : code(defaultValue),
    description,
  ]);
  return page(
    'Settings',
    'Every setting is an environment variable. [Settings](../operate/settings.md) explains how they are read, and ' +
      '`.env.example` is a file of them to start from.',
    table(['variable', 'default', 'meaning'], rows),
  );
}

/** `.env.example` */
export function envExample(): string {
  const settings = describeSettings().map(({ name, defaultValue, whenUnset, description }) => {
    const unset = whenUnset === undefined || whenUnset === 'none' ? '' : ` Unset: ${whenUnset}.`;
    return `# ${`${description}${unset}`.replaceAll('`', '')}\n${name}=${defaultValue ?? ''}\n`;
  });
  const head = `# Every setting of the service, with its default. An empty one counts as unset. Written by \`npm run docs\`.
# Copy this file to .env: \`docker compose up\` reads it (there DATA_DIR is always /data); without Docker, start the
# service with \`npx node --env-file=.env src/main.ts\`. Keep .env out of version control: URLs may hold passwords.
`;
  return [head, ...settings].join('\n');
}
