-- told.lua: reports which of the jobs handed out were cancelled, themselves or with their batch.
--
--   after marks.lua, ties.lua

-- Adds the places of jobs whose batch was cancelled, each followed by '', because there is no reason.
local function add_those_of_batches(places, cancelled_batches, groups, first)
  local ids, own, place = {}, {}, 0
  for _, group in ipairs(groups) do
    for i = first, #group do
      place = place + 1
      local id = batch_in(group[i])
      if id then ids[#ids + 1], own[#own + 1] = id, place end
    end
  end
  if #ids == 0 then return end
  for at, marked in ipairs(call('ZMSCORE', cancelled_batches, unpack(ids))) do
    if marked then places[#places + 1], places[#places + 2] = own[at], '' end
  end
end

-- A job's own reason comes later in the list, and wins.
local function tell_cancelled(news, cancelled, reasons, cancelled_batches, jobs)
  local places = {}
  pcall(add_those_of_batches, places, cancelled_batches, jobs, 2)
  local told, marked = pcall(cancelled_among, cancelled, reasons, jobs, 2)
  for _, word in ipairs(told and marked or {}) do places[#places + 1] = word end
  if #places > 0 then news[#news + 1], news[#news + 2] = 'cancelled', places end
end
