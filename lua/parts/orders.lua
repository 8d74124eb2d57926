-- orders.lua: the orders given to workers, and how many jobs of a queue may run at a time.
--
--   after pauses.lua; needs refusals.lua

-- Notes how many jobs of each queue may be reserved at a time, for those with a limit. Reports the last order to
-- restart and the paused queues to whoever reserves, and marks these queues as paused.
local function heed_orders(turn, control, queues, sources)
  local news, fields, paused = turn.news, { 'restart' }, {}
  for place, queue in ipairs(queues) do
    fields[2 * place], fields[2 * place + 1] = 'running:' .. queue.ready, 'paused:' .. queue.ready
  end
  local values = call('HMGET', control, unpack(fields))
  for place, queue in ipairs(queues) do
    queue.most = tonumber(values[2 * place] or '')
    if place <= sources then
      queue.paused, queue.resumes = is_paused(values[2 * place + 1], control, queue.ready, turn.moment)
      if queue.paused then paused[#paused + 1] = place end
    end
  end
  if values[1] and turn.limit > 0 then news[#news + 1], news[#news + 2] = 'restart', values[1] end
  if #paused > 0 then news[#news + 1], news[#news + 2] = 'paused', paused end
end

-- Whether any job is cancelled. If the orders cannot be read, they might say to take nothing, so the call only
-- settles.
local function read_orders(turn, control, cancelled, queues, sources)
  local any_cancelled = false
  local done, problem = pcall(function()
    any_cancelled = call('ZCARD', cancelled) > 0
    turn.any_batch_cancelled = call('ZCARD', turn.cancelled_batches) > 0
    if turn.limit > 0 then heed_orders(turn, control, queues, sources) end
  end)
  -- What such a call settles may make room for other workers.
  if turn.limit == 0 then pcall(heed_orders, turn, control, queues, 0) end
  if not done then
    turn.limit = 0
    need('skip')(turn, {}, 0, problem)
  end
  return any_cancelled
end
