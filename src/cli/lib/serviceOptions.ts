import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { looksLikeApiKey } from '../../modules/auth/apiKey.ts';
import { terminal } from '../../server/terminal.ts';
import { ofFile } from './ofFile.ts';
import { ServiceClient } from './ServiceClient.ts';

/** The environment variable that contains the key. */
const KEY_VARIABLE = 'CHARTLEDGER_API_KEY';

/** How a command reaches a service. */
export interface ServiceOptions {
  url: URL;
  keyFile?: string;
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash) return url;
  throw new InvalidArgumentError('Specify an address such as http://127.0.0.1:3000.');
}

/** Adds the options by which a command reaches a service; `permission` is the one that the key needs. */
export function addServiceOptions(command: Command, permission: string): Command {
  return command
    .option('--url <url>', 'the address of the service', parseUrl, new URL('http://127.0.0.1:3000'))
    .option(
      '--key-file <file>',
      `a file with the API key, which needs the permission ${permission} (default: the key in ` +
        `${KEY_VARIABLE})`,
    );
}

/**
 * Returns the key given in a file, otherwise in the environment, otherwise `otherwise`. Ends the command with a usage error when
 * there is none, or it is not a key; it is not shown. Rejects with `conflict` when the file cannot be read.
 */
export async function requireKey(
  command: Command,
  keyFile: string | undefined,
  otherwise?: string,
): Promise<string> {
  const given =
    keyFile === undefined
      ? (otherwise ?? terminal().env[KEY_VARIABLE])
      : await ofFile(keyFile, () => readFile(keyFile, 'utf8'));
  const key = given?.trim();
  if (!key) {
    command.error(
      `error: specify the API key in the environment variable ${KEY_VARIABLE}, or in a file with --key-file`,
    );
  }
  if (!looksLikeApiKey(key)) {
    command.error('error: the key is not an API key of Chartledger, or is incomplete; it begins with clk_');
  }
  return key;
}

/** Returns a client for the service and key given by the options; ends and rejects as `requireKey` does. */
export async function serviceClient(
  command: Command,
  { url, keyFile }: ServiceOptions,
  signal?: AbortSignal,
): Promise<ServiceClient> {
  return new ServiceClient({ url, key: await requireKey(command, keyFile), signal });
}
