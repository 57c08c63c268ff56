-- Sends one request over and over and writes the result as one line of JSON.
-- Arguments: method, body, milliseconds between a connection's requests, then "Name: value" for each header.

local pause = 0

function init(args)
  wrk.method = args[1]
  if args[2] ~= "" then wrk.body = args[2] end
  pause = tonumber(args[3])
  for i = 4, #args do
    local name, value = args[i]:match("^([^:]+): (.*)$")
    wrk.headers[name] = value
  end
  -- wrk calls this function, if there is one, before every request: a cost to avoid without a pause.
  if pause > 0 then delay = function() return pause end end
end

function done(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '\n{"answered":%d,"refused":%d,"broken":%d,"seconds":%.6f,"p50Ms":%.3f,"p99Ms":%.3f,"worstMs":%.3f}\n',
    summary.requests, failed.status, failed.connect + failed.read + failed.write + failed.timeout,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3
  ))
end
