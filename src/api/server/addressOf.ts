import type { Request } from 'express';
import { notHttp } from './errorAnswer.ts';

/**
 * Returns the service's address as clients see it: `PUBLIC_URL`, otherwise the address that a request was sent to.
 * Throws `validation_failed` when that is not a valid one.
 */
export function addressOf(req: Request, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl;
  const { localAddress, localPort } = req.socket;
  // HTTP 1.0 has no host.
  const host =
    req.get('host') ?? `${localAddress?.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  const address = URL.parse(`${req.protocol}://${host}`);
  if (address === null) throw notHttp();
  return address.origin;
}
