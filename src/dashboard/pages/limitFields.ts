import type { NullableLimits } from '../../modules/auth/keyLimits.ts';
import type { ApiKey } from '../../modules/auth/keyState.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { input } from '../components/formFields.ts';
import { type Html, type HtmlValue, html } from '../components/html.ts';
import { momentInputs, momentOf, shownMoment, showsMoment } from '../components/momentFields.ts';
import type { Visit } from '../components/route.ts';
import { textOf } from '../components/sentForm.ts';

/** The limits of a key in the form of its fields. */
interface LimitTexts {
  expires_at: string;
  networks: string;
  rate_limit: string;
}

/** Returns the limits of a key, in the form of its fields. */
export function limitTexts({ expiresAt, networks, rateLimit }: Partial<ApiKey>): LimitTexts {
  return {
    expires_at: shownMoment(expiresAt)?.slice(0, 16) ?? '',
    networks: networks?.join(', ') ?? '',
    rate_limit: rateLimit === undefined ? '' : String(rateLimit),
  };
}

/** Returns what the fields were sent with, as typed. */
export function limitTextsSent(form: Visit['form']): LimitTexts {
  return {
    expires_at: textOf(form, 'expires_at'),
    networks: textOf(form, 'networks'),
    rate_limit: textOf(form, 'rate_limit'),
  };
}

/**
 * Returns the fields that ask when a key ends, from where it is accepted and how many requests it may send, with what
 * was wrong.
 */
export function limitFields(texts: LimitTexts, details: readonly FieldMessage[] = []): Html {
  // A network is named by its index in the list.
  const error = (name: string) => details.find(({ field }) => field.split('.')[0] === name)?.message;
  const field = (name: keyof LimitTexts, label: string, hint: string) => ({
    ...{ name, label, hint, value: texts[name], error: error(name), autocomplete: 'off' },
  });
  return html`<fieldset>
<legend>Limits</legend>
${momentInputs(field('expires_at', 'Expires', 'From then on, requests are refused with 403. Empty: never.'))}
${input({
  ...field(
    'networks',
    'Networks',
    'Accept the key only from these addresses, separated by commas. Empty: from anywhere.',
  ),
  placeholder: '192.0.2.0/24, 2001:db8::/32',
})}
${input({
  ...field(
    'rate_limit',
    'Requests a minute',
    'Counted for the key instead of the address. Empty: shared with the other keys of the address.',
  ),
  type: 'number',
  min: 1,
})}
</fieldset>`;
}

/**
 * Returns what the fields were sent with, unchecked, for a key that may already have limits; an empty field removes
 * one.
 */
export function limitsSent(form: Visit['form'], key: Partial<ApiKey> = {}): NullableLimits {
  const texts = limitTextsSent(form);
  const parts = texts.networks.split(',').map((part) => part.trim());
  return {
    // Sending back what is shown, without seconds and perhaps of an hour that clocks show twice, would change it.
    expires_at: showsMoment(form, 'expires_at', key.expiresAt)
      ? undefined
      : momentOf(form, 'expires_at') || null,
    networks: parts.filter(Boolean),
    rate_limit: texts.rate_limit === '' ? null : Number(texts.rate_limit),
  };
}

/** Returns from where a key is accepted, and how many requests it may send, for a table cell. */
export function limitsCell({ networks, rateLimit }: ApiKey): HtmlValue {
  if (networks === undefined && rateLimit === undefined) return html`<span class="muted">none</span>`;
  const lines = [...(networks ?? []), ...(rateLimit === undefined ? [] : [`${rateLimit} requests a minute`])];
  return lines.map((line, at) => html`${at > 0 && html`<br>`}${line}`);
}
