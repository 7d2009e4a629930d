# stress-ng: some of its CPU methods, two workers each; the rates it prints differ.
for m in ackermann bitops crc16 double fft fibonacci int64 loop matrixprod queens sqrt; do
	stress-ng --no-rand-seed --cpu 2 --cpu-method $m --cpu-ops 20 --metrics-brief 2>&1 || exit
done
echo 'stressed enough'
