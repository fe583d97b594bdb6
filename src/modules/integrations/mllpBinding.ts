import { z } from 'zod';
import { canonicalNetwork, isInNetworks } from '../auth/sourceNetworks.ts';
import { type CertificateNames, canonicalCertificate } from './clientCertificate.ts';

const MOST = 50;

const network = named(canonicalNetwork, 'must be a network such as 192.0.2.0/24 or 2001:db8::/32');
const certificate = named(
  canonicalCertificate,
  'must be the SHA-256 fingerprint or the full subject of a certificate, such as CN=lab,O=Hospital',
);

/** The binding of a source to MLLP connections, as validated. */
export const mllpBindingSchema = z
  .object({
    certificates: listOf(certificate).optional(),
    networks: listOf(network).optional(),
    port: z.int().min(1).max(65_535).optional(),
  })
  .refine(({ certificates, networks }) => certificates !== undefined || networks !== undefined, {
    error: 'requires networks or certificates; a port alone does not identify a sender',
  });

/**
 * The connections whose messages belong to a source: everything named must match.
 *
 * - `certificates`: with one of these client certificates, by its SHA-256 fingerprint or its subject.
 * - `networks`: from one of these, in CIDR notation.
 * - `port`: to this one of the ports on which the service listens; to any of them if left out.
 */
export type MllpBinding = z.output<typeof mllpBindingSchema>;

/** A connection, as far as it distinguishes sources. */
export interface Peer {
  /** IP address of the sender. */
  address: string;
  /** The port on which it was accepted. */
  port: number;
  /** The client's certificate, where it has one that the service trusts. */
  certificate?: CertificateNames | undefined;
}

/**
 * Returns how surely a connection matches a binding: 0 not at all, 1 by its network, 2 by the subject of its
 * certificate, 3 by its fingerprint.
 */
export function claimOf({ certificates, networks, port }: MllpBinding, peer: Peer): 0 | 1 | 2 | 3 {
  if (port !== undefined && port !== peer.port) return 0;
  if (networks !== undefined && !isInNetworks(networks, peer.address)) return 0;
  if (certificates === undefined) return 1;
  if (peer.certificate === undefined) return 0;
  if (certificates.includes(peer.certificate.fingerprint)) return 3;
  return certificates.includes(peer.certificate.subject) ? 2 : 0;
}

/** Whether there may be a connection that both bindings claim with equal certainty. */
export function overlap(one: MllpBinding, other: MllpBinding): boolean {
  if (one.port !== undefined && other.port !== undefined && one.port !== other.port) return false;
  if (one.networks && other.networks && !intersect(one.networks, other.networks)) return false;
  if (one.certificates === undefined || other.certificates === undefined) {
    return one.certificates === other.certificates;
  }
  return one.certificates.some((name) => other.certificates?.includes(name));
}

/** Returns the parts of a binding, for people: `192.0.2.0/24`, `CN=lab,O=Hospital`, `port 2576`. */
export function bindingTexts({ networks = [], certificates = [], port }: MllpBinding): string[] {
  return [...networks, ...certificates, ...(port === undefined ? [] : [`port ${port}`])];
}

/** Of two networks that have an address in common, one includes all of the other. */
function intersect(some: readonly string[], others: readonly string[]): boolean {
  const reach = (networks: readonly string[], into: readonly string[]) =>
    networks.some((one) => isInNetworks(into, one.split('/')[0] as string));
  return reach(some, others) || reach(others, some);
}

function named(canonical: (text: string) => string | undefined, message: string) {
  return z.string().transform((text, context) => {
    const found = canonical(text);
    if (found !== undefined) return found;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** Without duplicates. */
function listOf<Schema extends z.ZodType<string>>(schema: Schema) {
  return z
    .array(schema)
    .min(1, { error: 'must name at least one' })
    .max(MOST, { error: `must be at most ${MOST}` })
    .transform((all) => [...new Set(all)]);
}
