// node interop_test.js ADDRESS GLINT
// Finds the contract by reflection, calls Detect and DetectStream of the server at ADDRESS, and compares with what the
// glint command at path GLINT gets from it.
'use strict';

const assert = require('node:assert/strict');
const {execFileSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const reflection = require('./reflection');

const [address, glint] = process.argv.slice(2);
const SIDE = 240;
const CORNERS = [[80, 90], [159, 90], [80, 149], [159, 149]];  // of a white box on black
const ARRAYS = ['x', 'y', 'size', 'angle', 'response', 'octave'];

function boxImage() {
  const data = Buffer.alloc(SIDE * SIDE);
  for (let y = 90; y < 150; ++y) data.fill(255, y * SIDE + 80, y * SIDE + 160);
  return {raw: {format: 'PIXEL_FORMAT_GRAY8', width: SIDE, height: SIDE, data}};
}

function checkFeatures(features) {
  const count = features.x.length;
  assert.ok(count >= CORNERS.length, `${count} keypoints`);
  for (const name of ARRAYS) assert.equal(features[name].length, count, name);
  assert.equal(features.descriptor_bytes, 32);
  assert.equal(features.descriptors.length, 32 * count);
  for (let i = 0; i < count; ++i) {
    const near = CORNERS.some(([x, y]) => Math.hypot(features.x[i] - x, features.y[i] - y) < features.size[i] / 4);
    assert.ok(near, `keypoint ${i} at ${features.x[i]}, ${features.y[i]} is at no corner of the box`);
  }
}

// The same keypoints as the command-line tool's, float by float.
function checkAgainstGlint(features) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'glint-interop-'));
  try {
    const file = path.join(folder, 'box.pgm');
    fs.writeFileSync(file, Buffer.concat([Buffer.from(`P5\n${SIDE} ${SIDE}\n255\n`), boxImage().raw.data]));
    const line = execFileSync(glint, ['detect', '--server', address, '--format', 'json', file], {encoding: 'utf8'});
    const {keypoints} = JSON.parse(line);
    assert.equal(features.x.length, keypoints.length);
    keypoints.forEach((keypoint, i) => {
      for (const name of ARRAYS) assert.equal(features[name][i], Math.fround(keypoint[name]), `${name} of ${i}`);
      assert.equal(features.descriptors.subarray(32 * i, 32 * i + 32).toString('hex'), keypoint.descriptor);
    });
  } finally {
    fs.rmSync(folder, {recursive: true});
  }
}

const detect = (client, request) => new Promise((resolve, reject) => {
  client.Detect(request, (error, response) => error ? reject(error) : resolve(response));
});

// Writes all messages, and resolves to the results and the status of the stream.
const stream = (client, messages) => new Promise((resolve) => {
  const results = [];
  const call = client.DetectStream();
  call.on('data', (result) => results.push(result));
  call.on('error', () => {});  // the status has it
  call.on('status', (status) => resolve({results, status}));
  for (const message of messages) call.write(message);
  call.end();
});

async function main() {
  const raw = new grpc.Client(address, grpc.credentials.createInsecure());
  const services = await reflection.listServices(raw);
  for (const name of ['glint.v1.FeatureDetection', 'grpc.health.v1.Health']) assert.ok(services.includes(name), name);
  const definition = grpc.loadPackageDefinition(await reflection.describe(raw, 'glint.v1.FeatureDetection'));
  raw.close();
  const client = new definition.glint.v1.FeatureDetection(address, grpc.credentials.createInsecure());

  const one = await detect(client, {image: boxImage()});
  checkFeatures(one.features);
  checkAgainstGlint(one.features);
  assert.ok(one.timings.total_ns > 0 && one.timings.detect_ns > 0);

  await assert.rejects(detect(client, {image: boxImage(), options: {levels: 99}}),
                       {code: grpc.status.INVALID_ARGUMENT, details: /levels: 99 is not in 1\.\.12/});

  const bad = {raw: {...boxImage().raw, width: 0}};
  const {results, status} = await stream(client, [
    {options: {detector: {preset: 'orb'}}},
    ...[7, 8, 9, 10].map((frame_id) => ({frame: {frame_id, image: frame_id === 9 ? bad : boxImage()}})),
  ]);
  assert.equal(status.code, grpc.status.OK, status.details);
  assert.deepEqual(results.map((result) => result.frame_id), [7, 8, 9, 10]);
  for (const result of results) {
    if (result.frame_id === 9) {
      assert.equal(result.status.code, grpc.status.INVALID_ARGUMENT);
      assert.match(result.status.message, /width/);
    } else {
      assert.deepEqual(result.features, one.features);
    }
  }

  const early = await stream(client, [{frame: {frame_id: 1, image: boxImage()}}]);
  assert.equal(early.status.code, grpc.status.FAILED_PRECONDITION);
  client.close();
  console.log(`reflection, Detect and DetectStream agree: ${one.features.x.length} keypoints`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
