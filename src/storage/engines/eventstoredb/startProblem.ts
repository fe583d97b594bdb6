import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { TIMEOUT_MS } from './drivers/attempt.ts';
import { hostsOf, optionOf } from './driverUrl.ts';

/** OpenSSL's error codes for a certificate without a trusted issuer. */
const UNKNOWN_AUTHORITY = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/** Returns why no server is found at a URL; `lasting` tells whether waiting is pointless. */
export async function startProblem(url: string): Promise<{ problem: string; lasting: boolean }> {
  const hosts = hostsOf(url);
  for (const host of optionOf(url, 'tls') === 'false' ? [] : hosts) {
    const problem = certificateProblem(host, await tlsError(host, optionOf(url, 'tlsCAFile')));
    if (problem !== undefined) return { problem, lasting: true };
  }
  return { problem: `The server of the event log does not answer at ${hosts.join(', ')}.`, lasting: false };
}

function certificateProblem(host: string, code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  if (UNKNOWN_AUTHORITY.includes(code)) {
    return `The certificate of ${host} is of an unknown certificate authority (${code}): name the file of the authority's certificate in EVENT_LOG_URL (tlsCAFile).`;
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate of ${host} is for another host (${code}).`;
  if (code.startsWith('CERT_')) return `The certificate of ${host} is not valid (${code}).`;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return `${host} does not speak TLS (${code}): say so in EVENT_LOG_URL (tls=false), or turn TLS on there.`;
  }
  return undefined;
}

/**
 * Returns the code with which a TLS connection to a host fails, if it does. The driver does not report it when there are several
 * hosts.
 */
async function tlsError(address: string, caFile: string | undefined): Promise<string | undefined> {
  const [host = '', port] = address.split(':');
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  const socket = connect({ host, port: Number(port), ALPNProtocols: ['h2'], ...ca });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}
