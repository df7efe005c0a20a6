# Tables from the JSON lines of table.sh: models down, methods across.

function number(line, key,    at) {
  if (!match(line, "\"" key "\":-?[0-9][-+0-9.e]*")) return ""
  at = length(key) + 4
  return substr(line, RSTART + at - 1, RLENGTH - at + 1) + 0
}

function word(line, key,    at) {
  if (!match(line, "\"" key "\":\"[^\"]*")) return ""
  at = length(key) + 5
  return substr(line, RSTART + at - 1, RLENGTH - at + 1)
}

/"improvement_percent":/ {
  model = word($0, "model")
  sub(/.*\//, "", model)
  sub(/\.onnx$/, "", model)
  gain = number($0, "improvement_percent")
  if (!(model in best) || gain > best[model]) best[model] = gain
  if (FILENAME != results) next
  key = model SUBSEP word($0, "method")
  initial[model] = number($0, "initial_cost_ms")
  value["exact", key] = gain
  value["gain", key] = sprintf("%.2f", gain)
  value["time", key] = sprintf("%.2f", number($0, "seconds_to_best"))
  value["whole", key] = sprintf("%.2f", number($0, "seconds"))
  value["seen", key] = sprintf("%.1f", number($0, "candidates") / 1000)
  value["memory", key] = sprintf("%.0f", number($0, "peak_memory_bytes") / 1e6)
}

function heading(title, first,    line, rule, i) {
  printf "\n**%s**\n\n", title
  line = "| model |" first
  rule = "| --- |" (first == "" ? "" : " ---: |")
  for (i = 1; i <= method_count; ++i) {
    line = line " " method[i] " |"
    rule = rule " ---: |"
  }
  return line "\n" rule
}

function table(title, what,    i, m, line) {
  print heading(title, "")
  for (m = 1; m <= model_count; ++m) {
    line = "| " name[m] " |"
    for (i = 1; i <= method_count; ++i) line = line " " value[what, name[m], method[i]] " |"
    print line
  }
}

function improvements(    i, m, line, x) {
  print heading("Improvement, percent of the estimated or measured sum of operators", " initial ms |")
  for (m = 1; m <= model_count; ++m) {
    line = sprintf("| %s | %.4f |", name[m], initial[name[m]])
    for (i = 1; i <= method_count; ++i) {
      x = value["gain", name[m], method[i]]
      line = line " " (x != "" && x == sprintf("%.2f", best[name[m]]) ? "**" x "**" : x) " |"
    }
    print line
  }
}

# (x - greedy) / (best known - greedy), where there are at least 0.05 points between the two.
function gaps(    i, m, line, gap, sum, count, greedy) {
  print heading("Share of the gap between greedy and the best known that is closed, percent", " gap |")
  for (m = 1; m <= model_count; ++m) {
    greedy = value["exact", name[m], "greedy"]
    gap = best[name[m]] - greedy
    if (greedy == "" || gap < 0.05) continue
    line = sprintf("| %s | %.2f |", name[m], gap)
    for (i = 1; i <= method_count; ++i) {
      if (value["exact", name[m], method[i]] == "") {
        line = line " |"
        continue
      }
      share = 100 * (value["exact", name[m], method[i]] - greedy) / gap
      sum[i] += share
      ++count[i]
      line = line sprintf(" %.0f |", share)
    }
    print line
  }
  line = "| mean | |"
  for (i = 1; i <= method_count; ++i) line = line (count[i] ? sprintf(" %.0f |", sum[i] / count[i]) : " |")
  print line
}

END {
  model_count = split(names, name, " ")
  method_count = split(methods, method, " ")
  improvements()
  gaps()
  table("Seconds until the best was found", "time")
  table("Seconds of the search", "whole")
  table("Candidates, thousands", "seen")
  table("Peak memory of the process at the end of the search, MB", "memory")
}
