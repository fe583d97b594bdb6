import { createTransport } from 'nodemailer';

/** A message to one person, in plain text. */
interface Mail {
  to: string;
  subject: string;
  text: string;
  /** Identifies it: a repeat has the same one. */
  id: string;
}

/** Sends mail over SMTP. */
export interface Mailer {
  /** Resolves with whether the server took it; never rejects. */
  send(mail: Mail): Promise<boolean>;
  close(): void;
}

/** For the connection, its greeting, and any pause. */
const TIMEOUT_MS = 15_000;

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Opens a sender of mail. `url`: `smtps:` connects with TLS; `smtp:` changes to TLS, without which neither a password nor a
 * message is sent, except to this machine. `onFailure` gets the code of each failure, never an address.
 */
export function openMailer(
  { url, from }: { url: string; from: string },
  onFailure: (code: string) => void,
): Mailer {
  const { protocol, hostname } = new URL(url);
  const transport = createTransport({
    url,
    requireTLS: protocol === 'smtp:' && !LOCAL.has(hostname),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text, id }) {
      try {
        await transport.sendMail({
          ...{ from, to, subject, text, messageId: `<${id}@chartledger>` },
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        return true;
      } catch (error) {
        const { code, responseCode } = error as { code?: string; responseCode?: number };
        onFailure(String(responseCode ?? code ?? 'unknown'));
        return false;
      }
    },
    close: () => transport.close(),
  };
}
