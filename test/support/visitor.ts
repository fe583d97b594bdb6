import { Client, insistWhileLagging, type TestResponse } from './client.ts';
import type { TestUser } from './dashboard.ts';

/** Visits a dashboard without a browser: keeps the cookies, and sends the token of the last page with each form. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  csrf = '';
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /** `path` is below `/dashboard`. Asks again while a read model lags (`insistWhileLagging`). */
  get(path: string): Promise<TestResponse> {
    return insistWhileLagging(
      () => this.#send('GET', path),
      ({ text }) => /(?<=<p[^>]*>)Th(e|is) [a-z ]+ is (not|temporarily) [^<]*/.exec(text)?.[0],
    );
  }

  /** Sends a form; `from` is the path of the page that holds it. */
  post(path: string, form: Record<string, string>, from?: string): Promise<TestResponse> {
    const body = new URLSearchParams({ csrf_token: this.csrf, ...form }).toString();
    const referer = from === undefined ? {} : { referer: `${this.#url}/dashboard${from}` };
    return this.#send('POST', path, body, referer);
  }

  /** Sends the sign-in page's form. */
  async signIn({ name, password }: Omit<TestUser, 'id'>, next?: string): Promise<TestResponse> {
    await this.get('/sign-in');
    return this.post('/sign-in', { name, password, ...(next !== undefined && { next }) });
  }

  /** Whether it is: others are sent to the sign-in page. */
  async isSignedIn(): Promise<boolean> {
    return (await this.get('/account')).status === 200;
  }

  async #send(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const answer = await new Client(this.#url, undefined).send(`/dashboard${path}`, {
      method,
      headers: {
        ...this.#headers,
        ...headers,
        ...(this.cookies.size > 0 && { cookie: [...this.cookies].map((pair) => pair.join('=')).join('; ') }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { body }),
    });
    for (const cookie of [answer.headers['set-cookie'] ?? []].flat()) this.#keep(cookie);
    this.csrf = /name="csrf_token" value="([^"]+)"/.exec(answer.text)?.[1] ?? this.csrf;
    return answer;
  }

  /** Goes on with the cookies of somebody else, such as a page's. */
  takeOver(cookies: { name: string; value: string }[]): void {
    for (const { name, value } of cookies) this.cookies.set(name, value);
  }

  #keep(cookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    if (value === '') this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
