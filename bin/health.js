#!/usr/bin/env node
// Asks the running worker whether it lives, or with --ready whether it can accept and record orders. For the health check of
// a container, which runs every few seconds: plain JavaScript that loads nothing of the program. Of the answer only the first
// line counts, so it does without an HTTP client, which would take as long to load as Node takes to start. Ends with 0, or with
// 1 for everything else: that is all that Docker and Kubernetes know.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

/** A check that takes longer has failed: it is soon made again. */
const timeoutMs = 2500;

const [question = '--live', folder = process.env.ORDER_SYNC__DATA_DIR] = process.argv.slice(2);
const path = { '--live': '/livez', '--ready': '/readyz' }[question];

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}

/** Where the worker listens, as it wrote when it started. One that listens on every address is asked on this machine's. */
function addressOf(dataDir) {
  const { admin_address: address } = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8'));
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}

function ask(address) {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: Number(address.slice(at + 1)) });
  let answer = '';
  let isJudged = false;
  const judge = (problem) => {
    if (!isJudged && problem !== null) fail(problem);
    isJudged = true;
    clearTimeout(timer);
    socket.destroy();
  };
  const noAnswer = (why) => judge(`No worker answers at http://${address}${path}: ${why}`);
  const timer = setTimeout(() => noAnswer(`nothing within ${timeoutMs} ms`), timeoutMs);
  socket.setEncoding('latin1');
  socket.on('error', (error) => noAnswer(error.message));
  socket.on('end', () => noAnswer('the connection was closed'));
  socket.on('data', (text) => {
    answer += text;
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
    if (status === undefined) {
      if (answer.length > 100) noAnswer('this is no HTTP answer');
      return;
    }
    judge(status === '200' ? null : `The worker at ${address} answers ${path} with ${status}`);
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${address}\r\nConnection: close\r\n\r\n`);
}

if (path === undefined || folder === undefined || folder === '') {
  fail(
    'Usage: node health.js [--live | --ready] [data_dir]; without data_dir, ORDER_SYNC__DATA_DIR names it',
  );
} else {
  let address;
  try {
    address = addressOf(folder);
  } catch (error) {
    fail(`No worker has started with the data folder ${folder}: ${error.message}`);
  }
  if (address !== undefined) ask(address);
}
